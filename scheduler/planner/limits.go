package planner

import (
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// limitState holds the state of one limit. The records of runs say which runs hold it, so every replica computes the same
// state.
type limitState struct {
	name     string
	def      *job.Limit // nil: it is not defined
	rev      int64      // revision of its record; 0: there is none
	held     int        // runs at workers that hold it
	reserved int        // decisions under way that give it to a run
	pace     policy.Pace
	waiting  []*limitWaiter // due runs that wait for it, the next one first
}

// full reports whether the limit has no place left. own is the number of holders that are left out of the count.
func (l *limitState) full(own int) bool {
	return l.def.Spec.Concurrent > 0 && l.held+l.reserved-own >= l.def.Spec.Concurrent
}

// free returns how many more runs may take the limit at the given time. own is the number of holders that are left out of the
// count.
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

// reason returns why a run has to wait for the limit. held is the number of holders. before is the number of runs before it in
// the queue.
func (l *limitState) reason(held, before int) string {
	if l.def == nil {
		return reasonUndefined(l.name)
	}
	if c := l.def.Spec.Concurrent; c > 0 && held+before >= c { // the runs before it are about to take the free places
		return reasonLimitFull(l.name, max(held, c), c)
	}
	return reasonLimitRate(l.name, l.def.Spec.Rate)
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
	l := p.limit(c.Name)
	if l.rev = c.Rev; c.Deleted() {
		l.rev = 0
	}
	if c.Bad != nil { // keep the last readable definition
		p.forgetLimit(l)
		return
	}
	l.def = job.ValueOf[job.Limit](c)
	for _, w := range l.waiting { // the decisions about these jobs are made again anyway, because their reasons change
		p.markDirty(w.job)
	}
	p.forgetLimit(l)
}

// forgetLimit removes an undefined limit without holders and waiting runs. It keeps a limit with recent starts, in case the
// limit is defined again.
func (p *Planner) forgetLimit(l *limitState) {
	if l.def == nil && l.held == 0 && l.reserved == 0 && len(l.waiting) == 0 && l.pace.Empty() {
		delete(p.limits, l.name)
	}
}

// countHolders counts which limits r holds, and when its attempt starts. old is the run before the change. Either may be
// nil.
func (p *Planner) countHolders(old, r *job.Run, now time.Time) {
	var had, has []string
	if old != nil && isAssigned(old) {
		had = old.Limits
	}
	if r != nil {
		has = r.Limits // the limits that r holds, or held until it ended
	}
	for _, name := range had {
		l := p.limit(name)
		l.held--
		if r != nil && old.State == job.Armed && !slices.Contains(has, name) { // this attempt never starts
			l.pace.Remove(old.Name(), old.Attempt)
		}
		p.forgetLimit(l)
	}
	for _, name := range has {
		l := p.limit(name)
		if isAssigned(r) {
			l.held++
		}
		if !l.paced() {
			if isAssigned(r) { // remembered in case the limit gets a rate
				l.pace.AddEnded(startsAt(r))
			}
			continue
		}
		if l.def != nil {
			l.pace.Forget(now, l.def.Spec.Rate.Interval())
		}
		if slices.Contains(had, name) {
			markStart(&l.pace, old, r, now)
		} else {
			markStart(&l.pace, nil, r, now)
		}
	}
}

// paced reports whether the limit has a rate, or may get one.
func (l *limitState) paced() bool { return l.def == nil || !l.def.Spec.Rate.IsZero() }

// limitGuards returns the guards of a decision that arms r: the limits that it gives to r have not changed. A leader that hears
// of a change late starts no run that the change forbids.
func (p *Planner) limitGuards(r *job.Run) (guards []job.Guard) {
	if r == nil || r.State != job.Armed {
		return nil
	}
	for _, name := range r.Limits {
		guards = append(guards, job.Guard{Kind: job.RecordLimit, Name: name, Rev: p.limit(name).rev})
	}
	return guards
}

// reserveLimits counts a decision that arms r as a holder of its limits, and as a start.
func (p *Planner) reserveLimits(j *jobState, r *job.Run) {
	if r == nil || r.State != job.Armed {
		return
	}
	for _, name := range r.Limits {
		p.limit(name).reserved++
	}
	p.eachPace(j, r, func(pace *policy.Pace) { pace.Add(r.Name(), r.Attempt, startsAt(r)) })
}

// releaseLimits undoes reserveLimits. If the decision was refused, its attempt does not start. But if the record shows an
// attempt of the same number, the decision was written before, and the attempt may even be over.
func (p *Planner) releaseLimits(j *jobState, r *job.Run, refused bool) {
	if r == nil || r.State != job.Armed {
		return
	}
	for _, name := range r.Limits {
		l := p.limit(name)
		l.reserved = max(0, l.reserved-1)
		p.forgetLimit(l)
	}
	if !refused {
		return
	}
	if known := j.run(r.ID); known == nil || known.Attempt < r.Attempt {
		p.eachPace(j, r, func(pace *policy.Pace) { pace.Remove(r.Name(), r.Attempt) })
	}
}

// eachPace calls do for each rate that the attempt of r counts for.
func (p *Planner) eachPace(j *jobState, r *job.Run, do func(*policy.Pace)) {
	for _, name := range r.Limits {
		if l := p.limit(name); l.paced() {
			do(&l.pace)
		}
	}
	if j.rate() > 0 && r.Spec == nil {
		do(&j.throttle.pace)
	}
}
