package policy

import (
	"slices"
	"time"
)

// Pace keeps the attempts under one rate apart: the starts of two attempts lie at least the rate's interval apart.
// The attempts may be added in any order. So no span of time has more starts than the rate allows, there are no bursts, and
// only the latest starts must be remembered. The zero Pace is empty.
type Pace struct {
	ended  time.Time // start of the latest attempt that has ended
	starts []start   // the starts of the other attempts, the earliest first
}

// start is the start of an attempt, which lies in the future if the run is armed ahead.
type start struct {
	at      time.Time
	run     string
	attempt int
}

// Add adds the start of an attempt. It replaces an earlier start of the same attempt.
func (p *Pace) Add(run string, attempt int, at time.Time) {
	p.Remove(run, attempt)
	i, _ := slices.BinarySearchFunc(p.starts, at, func(s start, at time.Time) int {
		if s.at.After(at) {
			return 1
		}
		return -1
	})
	p.starts = slices.Insert(p.starts, i, start{at, run, attempt})
}

// AddEnded adds the start of an attempt that has ended. Only the latest of these is remembered.
func (p *Pace) AddEnded(at time.Time) {
	if at.After(p.ended) {
		p.ended = at
	}
}

// Empty reports whether no start is remembered.
func (p *Pace) Empty() bool { return p.ended.IsZero() && len(p.starts) == 0 }

// Remove removes the start of an attempt that will not begin.
func (p *Pace) Remove(run string, attempt int) {
	p.starts = slices.DeleteFunc(p.starts, func(s start) bool { return s.run == run && s.attempt == attempt })
}

// Next returns the first time at which one more attempt may start, from at the earliest.
func (p *Pace) Next(from time.Time, interval time.Duration) time.Time {
	if after := p.ended.Add(interval); after.After(from) && p.ended.Add(-interval).Before(from) {
		from = after
	}
	for _, s := range p.starts {
		if !s.at.Add(interval).After(from) {
			continue
		}
		if !s.at.Add(-interval).Before(from) {
			break
		}
		from = s.at.Add(interval)
	}
	return from
}

// Forget removes the starts that have no effect after now.
func (p *Pace) Forget(now time.Time, interval time.Duration) {
	n := 0
	for n < len(p.starts) && !p.starts[n].at.Add(interval).After(now) {
		n++
	}
	p.starts = slices.Delete(p.starts, 0, n)
}
