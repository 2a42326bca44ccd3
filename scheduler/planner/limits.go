package planner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// limitState is what the planner knows of one limit. Which runs hold it stands in their records, so that every replica
// knows the same.
type limitState struct {
	name     string
	def      *job.Limit // nil: there is none
	held     int        // runs that are with workers and hold it
	reserved int        // decisions under way that give it to a run
	pace     policy.Pace
	waiting  []*limitWaiter // runs that are due and wait for it, those first that go first
}

// full says whether as many runs hold the limit as may; own is how many of them do not count.
func (l *limitState) full(own int) bool {
	return l.def.Spec.Concurrent > 0 && l.held+l.reserved-own >= l.def.Spec.Concurrent
}

// free is how many more runs may take the limit at the given time; own is how many of those that hold it do not count.
func (l *limitState) free(at time.Time, own int) int {
	switch {
	case l.def == nil, l.full(own):
		return 0
	case l.def.Spec.Rate.IsZero() && l.def.Spec.Concurrent == 0:
		return math.MaxInt
	case l.def.Spec.Rate.IsZero():
		return l.def.Spec.Concurrent - l.held - l.reserved + own
	case l.pace.Next(at, l.def.Spec.Rate.Interval()).After(at):
		return 0
	}
	return 1
}

// why says why a run has to wait that finds the limit with so many runs that hold it, and so many that go before it.
func (l *limitState) why(held, before int) string {
	if l.def == nil {
		return "limit " + l.name + " is not defined"
	}
	if c := l.def.Spec.Concurrent; c > 0 && held+before >= c { // those that go before it are about to take what is free
		return fmt.Sprintf("limit %s is full (%d of %d)", l.name, max(held, c), c)
	}
	return fmt.Sprintf("limit %s: at most %v begin", l.name, l.def.Spec.Rate)
}

func (p *Planner) limit(name string) *limitState {
	l := p.limits[name]
	if l == nil {
		l = &limitState{name: name}
		p.limits[name] = l
	}
	return l
}

func (p *Planner) applyLimit(c job.Change) {
	if c.Bad != nil {
		return // what we knew is still what was asked for
	}
	l := p.limit(c.Name)
	l.def = c.Limit
	for _, w := range l.waiting { // at least what they are told is another thing now
		p.touch(w.job)
	}
	p.forgetLimit(l)
}

// forgetLimit removes a limit of which nothing is left. One that somebody may define again knows when runs have begun.
func (p *Planner) forgetLimit(l *limitState) {
	if l.def == nil && l.held == 0 && l.reserved == 0 && len(l.waiting) == 0 && l.pace.Blank() {
		delete(p.limits, l.name)
	}
}

// occupy takes over which limits r holds, which was old, and when its attempt begins. Either may be nil.
func (p *Planner) occupy(old, r *job.Run, now time.Time) {
	var had, has []string
	if old != nil && isAssigned(old) {
		had = old.Limits
	}
	if r != nil {
		has = r.Limits // or had
	}
	for _, name := range had {
		l := p.limit(name)
		l.held--
		if r != nil && old.State == job.Armed && !slices.Contains(has, name) { // it was not begun, and will not be
			l.pace.Unmark(old.Name(), old.Attempt)
		}
		p.forgetLimit(l)
	}
	for _, name := range has {
		l := p.limit(name)
		if isAssigned(r) {
			l.held++
		}
		if !l.paced() {
			if isAssigned(r) { // all that matters of it, should the limit get a rate
				l.pace.Past(begins(r))
			}
			continue
		}
		if l.def != nil {
			l.pace.Forget(now, l.def.Spec.Rate.Interval())
		}
		if slices.Contains(had, name) {
			keepPace(&l.pace, old, r, now)
		} else {
			keepPace(&l.pace, nil, r, now)
		}
	}
}

// paced says whether it matters when runs begin that hold the limit, or may turn out to matter.
func (l *limitState) paced() bool { return l.def == nil || !l.def.Spec.Rate.IsZero() }

// reserveLimits counts a decision that arms r as one that holds its limits and begins in its time.
func (p *Planner) reserveLimits(j *jobState, r *job.Run) {
	if r == nil || r.State != job.Armed {
		return
	}
	for _, name := range r.Limits {
		p.limit(name).reserved++
	}
	p.paces(j, r, func(pace *policy.Pace) { pace.Mark(r.Name(), r.Attempt, begins(r)) })
}

// settleLimits ends what reserveLimits began. If the decision was refused its attempt does not begin, unless the record
// tells of one with its number: it was written without our hearing, and may be over by now.
func (p *Planner) settleLimits(j *jobState, r *job.Run, refused bool) {
	if r == nil || r.State != job.Armed {
		return
	}
	for _, name := range r.Limits {
		l := p.limit(name)
		l.reserved = max(0, l.reserved-1)
		p.forgetLimit(l)
	}
	known := j.live.get(r.ID)
	if known == nil {
		known = j.ended.get(r.ID)
	}
	if refused && (known == nil || known.Attempt < r.Attempt) {
		p.paces(j, r, func(pace *policy.Pace) { pace.Unmark(r.Name(), r.Attempt) })
	}
}

// paces calls do for each pace that the attempt of r has to keep.
func (p *Planner) paces(j *jobState, r *job.Run, do func(*policy.Pace)) {
	for _, name := range r.Limits {
		if l := p.limit(name); l.paced() {
			do(&l.pace)
		}
	}
	if j.rate() > 0 && r.Spec == nil {
		do(&j.throttle.pace)
	}
}
