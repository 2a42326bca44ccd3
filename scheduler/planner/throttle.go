package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// throttle is a job's rate and breaker, and its places in the queues of limits. It is computed from the records of the job's
// runs. A replica that started later lacks those that were removed before. A job without a rate, a breaker and limits has no
// throttle.
type throttle struct {
	pace         policy.Pace
	breaker      policy.BreakerState
	attempts     []policy.BreakerAttempt // the latest ended attempts for the breaker, by their ends
	before       policy.BreakerState     // the breaker before these attempts
	droppedUpTo  time.Time               // end of the last attempt that was dropped from attempts; zero: none was
	outOfOrder   bool                    // an attempt came after a later one had been dropped: it counts from the next term on
	queued, left []*limitWaiter          // queued: the job's present places in queues of limits; left: its places before this decision
}

// rate returns the interval of the job's rate, zero if it has none.
func (j *jobState) rate() time.Duration {
	if j.def == nil || j.throttle == nil {
		return 0
	}
	return j.def.Spec.Rate.Interval()
}

// hasThrottle reports whether the job's definition has a rate or a breaker.
func (j *jobState) hasThrottle() bool {
	return j.def != nil && (!j.def.Spec.Rate.IsZero() || j.def.Spec.Breaker != nil)
}

// ensureThrottle returns the job's throttle for changes.
func (j *jobState) ensureThrottle() *throttle {
	if j.throttle == nil {
		j.throttle = &throttle{}
	}
	return j.throttle
}

// applyThrottle applies a change of the job's definition from old. It closes the breaker of a job that was changed.
func (p *Planner) applyThrottle(j *jobState, old *job.Job, now time.Time) {
	switch {
	case !j.hasThrottle():
		p.leaveQueues(j)
		j.throttle = nil
	case old == nil || j.throttle == nil || old.Generation != j.def.Generation:
		p.leaveQueues(j)
		j.throttle = &throttle{}
		for r := range j.all {
			p.observeAttempts(j, nil, r, now)
		}
		p.rebuildBreaker(j, now)
	}
	p.publishBreaker(j)
}

// all yields each run of the job, the ended runs first.
func (j *jobState) all(yield func(*job.Run) bool) {
	for r := range j.ended.all {
		if !yield(r) {
			return
		}
	}
	for _, r := range j.live.order {
		if !yield(r.Run) {
			return
		}
	}
}

// rebuildBreaker computes the breaker again from all records, if they came in an order that may have made it wrong.
func (p *Planner) rebuildBreaker(j *jobState, now time.Time) {
	if j.throttle == nil || !j.throttle.outOfOrder || j.def == nil || j.def.Spec.Breaker == nil {
		return
	}
	th := j.throttle
	th.attempts, th.before, th.droppedUpTo, th.outOfOrder = nil, policy.BreakerState{}, time.Time{}, false
	for r := range j.all {
		j.insertAttempts(nil, r, now)
	}
	j.countAttempts(-1)
	p.publishBreaker(j)
}

// observeAttempts updates rate and breaker with the attempts of r: when they started and how they ended. old is the run
// before the change. Either may be nil.
func (p *Planner) observeAttempts(j *jobState, old, r *job.Run, now time.Time) {
	if j.throttle == nil || !j.hasThrottle() {
		return
	}
	if interval := j.rate(); interval > 0 {
		j.throttle.pace.Forget(now, interval)
		markStart(&j.throttle.pace, old, r, now)
	}
	if j.def.Spec.Breaker != nil && r != nil {
		known := len(j.throttle.attempts)
		if first := j.insertAttempts(old, r, now); first < known {
			known = -1
		}
		j.countAttempts(known)
		p.publishBreaker(j)
	}
}

// markStart marks in pace when the attempt of r starts. old is the run before the change. Either may be nil.
func markStart(pace *policy.Pace, old, r *job.Run, now time.Time) {
	if old != nil && old.State == job.Armed && r != nil && r.Attempt < old.Attempt { // the attempt of old never starts
		pace.Remove(old.Name(), old.Attempt)
	}
	switch {
	case r == nil:
	case isAssigned(r):
		pace.Add(r.Name(), r.Attempt, startsAt(r))
	case r.Attempt == 0 || old != nil && r.Attempt <= old.Attempt: // never started, or counted already
	default:
		pace.AddEnded(startedAt(r, now))
	}
}

func isAssigned(r *job.Run) bool { return r.State == job.Armed || r.State == job.Running }

// startsAt returns the earliest time at which the worker of r may start it.
func startsAt(r *job.Run) time.Time { return job.Later(r.Due, r.Armed) }

// startedAt returns when the last ended attempt of r started, as its record says, but not after now.
func startedAt(r *job.Run, now time.Time) time.Time {
	at := r.Armed
	if n := len(r.Attempts); n > 0 {
		at, _ = r.Span(n - 1)
	}
	return job.Earlier(at, now)
}

// insertAttempts inserts the attempts of r that have ended since its record was old, and returns the first place where it inserted
// one. If old is nil, all attempts are new. An attempt does not count if it ended before the job got its present definition, or if
// its end says nothing about the target.
func (j *jobState) insertAttempts(old, r *job.Run, now time.Time) (first int) {
	known := 0
	if old != nil && len(old.Attempts) > 0 {
		known = old.Attempts[len(old.Attempts)-1].Number
	}
	th := j.throttle
	first = len(th.attempts)
	for i, a := range r.Attempts {
		if a.Number <= known || a.State != job.Succeeded && a.State != job.Failed && a.State != job.TimedOut {
			continue
		}
		t := policy.BreakerAttempt{Failed: a.State != job.Succeeded}
		if old != nil && isAssigned(old) && old.Attempt == a.Number { // seen live, so its times are by this clock
			t.Began, t.Ended = startsAt(old), now
		} else {
			began, ended := r.Span(i)
			t.Began, t.Ended = job.Earlier(began, now), job.Earlier(ended, now)
		}
		if t.Ended.Before(j.def.Updated) {
			continue
		}
		if t.Ended.Before(th.droppedUpTo) {
			th.outOfOrder = true
			continue
		}
		i, _ := slices.BinarySearchFunc(th.attempts, t, func(a, b policy.BreakerAttempt) int {
			if a.Ended.After(b.Ended) {
				return 1
			}
			return -1
		})
		th.attempts = slices.Insert(th.attempts, i, t)
		first = min(first, i)
	}
	return first
}

// countAttempts takes the attempts from a place on into the breaker; -1: all attempts, into the breaker before them. Then it drops
// those that are too old to come out of order.
func (j *jobState) countAttempts(from int) {
	th, b := j.throttle, j.def.Spec.Breaker
	if from < 0 {
		th.breaker, from = th.before.Clone(), 0
	}
	for _, t := range th.attempts[from:] {
		th.breaker.Add(b, t)
	}
	drop := max(0, len(th.attempts)-j.breakerWindow())
	for _, t := range th.attempts[:drop] {
		th.before.Add(b, t)
		th.droppedUpTo = t.Ended
	}
	th.attempts = slices.Delete(th.attempts, 0, drop)
}

// breakerWindow returns how many of the job's latest attempts are kept for its breaker.
func (j *jobState) breakerWindow() int {
	if j.def == nil {
		return 0
	}
	return policy.BreakerLookBack(j.def.Spec.Breaker)
}

// throttled returns the reason why the job's breaker or rate prevents the start of r at the given time; "" if r may start.
// until is the time to decide again; zero if the next decision follows the end of a run.
func (j *jobState) throttled(r *job.Run, at time.Time) (why string, until time.Time) {
	if j.throttle == nil || !j.hasThrottle() {
		return "", time.Time{}
	}
	if b := j.throttle.breaker; b.Open && at.Before(b.Until) {
		return j.breakerReason(), b.Until
	} else if probe := j.probe(r); b.Open && probe != nil {
		return reasonBreakerProbe(probe.ID), time.Time{}
	}
	if next := j.throttle.pace.Next(at, j.rate()); next.After(at) {
		return reasonJobRate(j.name, j.def.Spec.Rate), next
	}
	return "", time.Time{}
}

func (j *jobState) breakerReason() string {
	return reasonBreakerOpen(j.throttle.breaker.Until, j.throttle.breaker.Failed)
}

// probe returns the run, other than r, that probes whether the half-open breaker may close; nil if there is none.
func (j *jobState) probe(r *job.Run) *liveRun {
	for _, o := range j.live.order {
		if o.ID != r.ID && o.assigned() && !startsAt(o.Run).Before(j.throttle.breaker.Until) {
			return o
		}
	}
	return nil
}

// Breakers returns the jobs that have a breaker, and whether it is open or half-open. Later changes do not affect the map
// that it returns.
func (p *Planner) Breakers() map[string]bool { return p.breakers.current() }

func (p *Planner) publishBreaker(j *jobState) {
	has := j.def != nil && j.def.Spec.Breaker != nil
	open := has && j.throttle != nil && j.throttle.breaker.Open
	switch was, had := p.breakers.values[j.name]; {
	case !has:
		p.breakers.remove(j.name)
	case !had || was != open:
		p.breakers.set(j.name, open)
	}
}
