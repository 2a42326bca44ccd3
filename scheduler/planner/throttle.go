package planner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// throttle is what keeps runs of a job from beginning beside their time, each other and want of room: its rate and its
// breaker. All of it follows from the records of its runs, so that every replica knows the same. A job without either, and
// that waits for no limit, has none.
type throttle struct {
	pace    policy.Pace
	tried   []policy.Tried // what the breaker goes by, in the order of their ends
	forgot  time.Time      // when the last one ended that is left out, since it is too long ago; zero: none is
	jumbled bool           // some came out of order after that, so that another one may have been left out than should
	breaker policy.BreakerState
	queued  []*limitWaiter // runs of the job that stand in the queues of limits
	left    []*limitWaiter // those that did until the job was looked at
}

// rate is the interval of the job's rate, zero if it has none.
func (j *jobState) rate() time.Duration {
	if j.def == nil || j.throttle == nil {
		return 0
	}
	return j.def.Spec.Rate.Interval()
}

// throttles says whether the job has a rate or a breaker.
func (j *jobState) throttles() bool {
	return j.def != nil && (!j.def.Spec.Rate.IsZero() || j.def.Spec.Breaker != nil)
}

// need returns the job's throttle, which it has from now on.
func (j *jobState) need() *throttle {
	if j.throttle == nil {
		j.throttle = &throttle{}
	}
	return j.throttle
}

// applyThrottle takes over that the job's definition has changed from old. The breaker of a job that was changed is closed.
func (p *Planner) applyThrottle(j *jobState, old *job.Job, now time.Time) {
	switch {
	case !j.throttles():
		p.leaveQueues(j)
		j.throttle = nil
	case old == nil || j.throttle == nil || old.Generation != j.def.Generation:
		p.leaveQueues(j)
		j.throttle = &throttle{}
		for r := range j.ended.all {
			p.observe(j, nil, r, now)
		}
		for _, r := range j.live.order {
			p.observe(j, nil, r.Run, now)
		}
		p.sortOut(j, now)
	}
	p.showBreaker(j)
}

// sortOut has the breaker go by all records at once, if they came in such an order that it may be wrong.
func (p *Planner) sortOut(j *jobState, now time.Time) {
	if j.throttle == nil || !j.throttle.jumbled || j.def == nil || j.def.Spec.Breaker == nil {
		return
	}
	j.throttle.tried, j.throttle.forgot, j.throttle.jumbled = nil, time.Time{}, false
	for r := range j.ended.all {
		j.tell(nil, r, now)
	}
	for _, r := range j.live.order {
		j.tell(nil, r.Run, now)
	}
	j.judge()
	p.showBreaker(j)
}

// observe takes over what r, which was old, tells of the attempts of its job: when they began and how they ended. Either
// may be nil.
func (p *Planner) observe(j *jobState, old, r *job.Run, now time.Time) {
	if j.throttle == nil || !j.throttles() {
		return
	}
	if interval := j.rate(); interval > 0 {
		j.throttle.pace.Forget(now, interval)
		keepPace(&j.throttle.pace, old, r, now)
	}
	if j.def.Spec.Breaker != nil && r != nil {
		j.tell(old, r, now)
		j.judge()
		p.showBreaker(j)
	}
}

// keepPace marks in pace when the attempt of r begins, which was old. Either may be nil.
func keepPace(pace *policy.Pace, old, r *job.Run, now time.Time) {
	if old != nil && old.State == job.Armed && r != nil && r.Attempt < old.Attempt { // it was not begun, and will not be
		pace.Unmark(old.Name(), old.Attempt)
	}
	switch {
	case r == nil:
	case isAssigned(r):
		pace.Mark(r.Name(), r.Attempt, begins(r))
	case r.Attempt == 0 || old != nil && r.Attempt <= old.Attempt: // never begun, or known
	default:
		pace.Past(began(r, now))
	}
}

func isAssigned(r *job.Run) bool { return r.State == job.Armed || r.State == job.Running }

// begins is from when on the worker that has r may begin it.
func begins(r *job.Run) time.Time { return job.Later(r.Due, r.Armed) }

// began is when the last attempt of r began, which has ended, as far as its record tells at now.
func began(r *job.Run, now time.Time) time.Time {
	at := r.Armed
	if n := len(r.Attempts); n > 0 {
		at, _ = r.Span(n - 1)
	}
	return job.Earlier(at, now)
}

// tell adds the attempts of r that have ended since it was old, nil if it is seen for the first time. Those that ended
// before the job got its present definition do not count, nor do those that say nothing of the target.
func (j *jobState) tell(old, r *job.Run, now time.Time) {
	known := 0
	if old != nil && len(old.Attempts) > 0 {
		known = old.Attempts[len(old.Attempts)-1].Number
	}
	th := j.throttle
	for i, a := range r.Attempts {
		if a.Number <= known || a.State != job.Succeeded && a.State != job.Failed && a.State != job.TimedOut {
			continue
		}
		t := policy.Tried{Failed: a.State != job.Succeeded}
		if old != nil && isAssigned(old) && old.Attempt == a.Number { // we saw it begin and end, by our own clock
			t.Began, t.Ended = begins(old), now
		} else {
			began, ended := r.Span(i)
			t.Began, t.Ended = job.Earlier(began, now), job.Earlier(ended, now)
		}
		if t.Ended.Before(j.def.Updated) {
			continue
		}
		if t.Ended.Before(th.forgot) {
			th.jumbled = true
			continue
		}
		i, _ := slices.BinarySearchFunc(th.tried, t, func(a, b policy.Tried) int {
			if a.Ended.After(b.Ended) {
				return 1
			}
			return -1
		})
		th.jumbled = th.jumbled || i < len(th.tried) && !th.forgot.IsZero()
		th.tried = slices.Insert(th.tried, i, t)
	}
}

// judge says how the breaker stands, and leaves out what is too long ago to matter.
func (j *jobState) judge() {
	th := j.throttle
	for counted := 0; ; {
		if th.breaker, counted = policy.Breaker(j.def.Spec.Breaker, th.tried); counted <= j.lookBack() {
			return
		}
		th.forgot = th.tried[0].Ended
		th.tried = slices.Delete(th.tried, 0, 1)
	}
}

// lookBack is how many of the job's latest attempts are kept for its breaker.
func (j *jobState) lookBack() int {
	if j.def == nil {
		return 0
	}
	return policy.BreakerLookBack(j.def.Spec.Breaker)
}

// heldBack says why r may not begin at the given time, though its time has come: for the breaker or the rate of its job.
// until is when to look again, zero if that is when a run has ended. "" if it may.
func (j *jobState) heldBack(r *job.Run, at time.Time) (why string, until time.Time) {
	if j.throttle == nil || !j.throttles() {
		return "", time.Time{}
	}
	if b := j.throttle.breaker; b.Open && at.Before(b.Until) {
		return j.isOpen(), b.Until
	} else if probe := j.probe(r); b.Open && probe != nil {
		return "breaker open: run " + probe.ID + " tries first", time.Time{}
	}
	if next := j.throttle.pace.Next(at, j.rate()); next.After(at) {
		return fmt.Sprintf("rate %v of job %s", j.def.Spec.Rate, j.name), next
	}
	return "", time.Time{}
}

func (j *jobState) isOpen() string {
	b := j.throttle.breaker
	return fmt.Sprintf("breaker open until %s: %d of the latest attempts failed", b.Until.UTC().Format(time.RFC3339), b.Failed)
}

// probe is the run, other than r, that was given out since the breaker may be tried; nil if there is none.
func (j *jobState) probe(r *job.Run) *liveRun {
	for _, o := range j.live.order {
		if o.ID != r.ID && o.assigned() && !begins(o.Run).Before(j.throttle.breaker.Until) {
			return o
		}
	}
	return nil
}

// Breakers are the jobs that have one, and whether it is open or being tried. What it returns does not change any more.
func (p *Planner) Breakers() map[string]bool {
	if p.shown == nil {
		p.shown = maps.Clone(p.breakers)
	}
	return p.shown
}

func (p *Planner) showBreaker(j *jobState) {
	has := j.def != nil && j.def.Spec.Breaker != nil
	open := has && j.throttle != nil && j.throttle.breaker.Open
	if was, had := p.breakers[j.name]; had == has && was == open {
		return
	}
	p.shown = nil
	if !has {
		delete(p.breakers, j.name)
		return
	}
	if p.breakers == nil {
		p.breakers = make(map[string]bool)
	}
	p.breakers[j.name] = open
}
