package planner_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// throttled adds a rate or a breaker to spec.
func (q *quiet) throttled(spec job.Spec) job.Spec {
	if q.chance(0.15) {
		spec.Rate = job.Rate{Count: 2 + q.IntN(8), Per: time.Minute}
	}
	if q.chance(0.15) {
		spec.Breaker = &job.Breaker{
			Window: 1 + q.IntN(4), FailureRatio: []float64{0.3, 0.5, 1}[q.IntN(3)], OpenFor: job.Duration(time.Second + q.upTo(40*time.Second)),
		}
	}
	return spec
}

// try is an attempt of a job.
type try struct {
	of    *life
	armed time.Time
	stretch
	state job.State
}

// tries returns the attempts of a job in the order of their ends.
func (g *judge) tries(name string) (list []try) { return triesOf(g.of(name)) }

func triesOf(lives []*life) (list []try) {
	for _, l := range lives {
		for i, at := range l.started {
			t := try{l, at, stretch{at, never}, ""}
			if i < len(l.armed) {
				t.armed = l.armed[i]
			}
			if i < len(l.over) {
				t.to, t.state = l.over[i], l.results[i]
			}
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b try) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	return list
}

// throttles judges that attempts keep to the rate and the breaker of their job.
func (g *judge) throttles(name string) {
	g.paced(name, g.tries(name), g.store.job(name).Spec.Rate)
	for _, b := range g.breaks(name) {
		probe := b.to
		for _, t := range g.tries(name) {
			if t.from.After(b.from) && t.from.Before(b.to) {
				g.fail("an attempt of %s began at %v, but its breaker is open from %v to %v", t.of.Name(), t.from, b.from, b.to)
			}
			if t.from.Before(b.to) || !t.from.Before(b.closed) {
				continue
			}
			if t.from.Before(probe) {
				g.fail("two attempts of %s probed its breaker at %v", name, t.from)
			}
			probe = t.to
		}
	}
}

// paced judges that attempts keep to a rate.
func (g *judge) paced(what string, tries []try, rate job.Rate) {
	slices.SortFunc(tries, func(a, b try) int { return a.from.Compare(b.from) })
	for i := 1; i < len(tries); i++ {
		if apart := tries[i].from.Sub(tries[i-1].from); apart < rate.Interval() {
			g.fail("two attempts of %s began %v apart, at %v, the rate is %v", what, apart, tries[i].from, rate)
		}
	}
}

// broken is a stretch of time in which a breaker lets no run begin. Until it is closed, it lets one begin at a time.
type broken struct {
	stretch
	closed time.Time
}

// breaks returns when the breaker of a job is open. An edit closes it.
func (g *judge) breaks(name string) (list []broken) {
	b := g.store.job(name).Spec.Breaker
	if b == nil {
		return nil
	}
	needed := int(math.Ceil(b.FailureRatio*float64(b.Window) - 1e-9))
	for _, e := range g.eras[name] {
		var window []bool
		var open *broken
		for _, t := range g.tries(name) {
			failed := t.state == job.Failed || t.state == job.TimedOut
			if !failed && t.state != job.Succeeded || !e.has(t.to) {
				continue
			}
			if open != nil && t.from.Before(open.to) {
				continue
			}
			switch {
			case open != nil && failed:
				open.closed = t.to
				list = append(list, *open)
				open = &broken{stretch{t.to, t.to.Add(b.OpenFor.Std())}, e.to}
				continue
			case open != nil:
				open.closed = t.to
				list, open, window = append(list, *open), nil, nil
				continue
			}
			if window = append(window, failed); len(window) > b.Window {
				window = window[1:]
			}
			failures := 0
			for _, f := range window {
				if f {
					failures++
				}
			}
			if failures >= needed {
				open = &broken{stretch{t.to, t.to.Add(b.OpenFor.Std())}, e.to}
			}
		}
		if open != nil {
			list = append(list, *open)
		}
	}
	for i := range list {
		list[i].to = job.Earlier(list[i].to, list[i].closed)
	}
	return list
}

// throttling returns when a rate or the breaker of its job may have held a run back.
func (g *judge) throttling(l *life) (list []stretch) {
	for _, b := range g.breaks(l.Job) {
		list = append(list, b.stretch)
		for _, o := range g.of(l.Job) {
			for _, h := range o.holds {
				if o != l {
					list = append(list, stretch{job.Later(h.from, b.to), job.Earlier(h.to, b.closed)})
				}
			}
		}
	}
	list = append(list, pacing(l, g.of(l.Job), g.store.job(l.Job).Spec.Rate)...)
	for _, name := range g.limitsOf(l) {
		list = append(list, pacing(l, g.holders(name), quietLimits[name].Rate)...)
	}
	return list
}

// holders returns the runs that name a limit.
func (g *judge) holders(limit string) (list []*life) {
	for _, l := range g.lives {
		if slices.Contains(g.limitsOf(l), limit) {
			list = append(list, l)
		}
	}
	return list
}

// pacing returns when a rate for some runs may have held one of them back: around the begin of each attempt. It includes what was
// armed ahead and taken back.
func pacing(l *life, runs []*life, rate job.Rate) (list []stretch) {
	if rate.IsZero() {
		return nil
	}
	for _, t := range triesOf(runs) {
		if t.of != l {
			list = append(list, stretch{job.Later(t.armed, t.from.Add(-rate.Interval())), t.from})
		}
		list = append(list, stretch{t.from, t.from.Add(rate.Interval())})
	}
	for _, o := range runs {
		for _, h := range o.holds {
			if o != l && !slices.ContainsFunc(o.started, h.has) {
				list = append(list, h)
			}
		}
	}
	return list
}
