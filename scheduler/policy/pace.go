package policy

import (
	"slices"
	"time"
)

// Pace keeps the attempts under one rate apart. Between the beginnings of two of them lies at least the interval of the
// rate, whatever the order in which they are marked: so no span of time, however short, sees more of them than the rate
// allows, and nothing but the latest beginnings has to be remembered. There are no bursts. The zero Pace has no beginnings.
type Pace struct {
	past   time.Time // the latest of Past
	begins []begin   // in their order
}

// begin is when an attempt begins; those that are armed ahead begin in the future.
type begin struct {
	at      time.Time
	run     string
	attempt int
}

// Mark notes when an attempt begins, in the place of what was noted of it before.
func (p *Pace) Mark(run string, attempt int, at time.Time) {
	p.Unmark(run, attempt)
	i, _ := slices.BinarySearchFunc(p.begins, at, func(b begin, at time.Time) int {
		if b.at.After(at) {
			return 1
		}
		return -1
	})
	p.begins = slices.Insert(p.begins, i, begin{at, run, attempt})
}

// Past notes when an attempt began that has ended. Only the latest of those is remembered.
func (p *Pace) Past(at time.Time) {
	if at.After(p.past) {
		p.past = at
	}
}

// Blank says that nothing is noted.
func (p *Pace) Blank() bool { return p.past.IsZero() && len(p.begins) == 0 }

// Unmark takes an attempt back that has not begun and will not.
func (p *Pace) Unmark(run string, attempt int) {
	p.begins = slices.DeleteFunc(p.begins, func(b begin) bool { return b.run == run && b.attempt == attempt })
}

// Next is the first instant, not before from, at which one more attempt may begin.
func (p *Pace) Next(from time.Time, interval time.Duration) time.Time {
	if after := p.past.Add(interval); after.After(from) && p.past.Add(-interval).Before(from) {
		from = after
	}
	for _, b := range p.begins {
		if !b.at.Add(interval).After(from) {
			continue
		}
		if !b.at.Add(-interval).Before(from) {
			break
		}
		from = b.at.Add(interval)
	}
	return from
}

// Forget drops what cannot matter any more at now.
func (p *Pace) Forget(now time.Time, interval time.Duration) {
	n := 0
	for n < len(p.begins) && !p.begins[n].at.Add(interval).After(now) {
		n++
	}
	p.begins = slices.Delete(p.begins, 0, n)
}
