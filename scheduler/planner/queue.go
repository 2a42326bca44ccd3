package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// limitWaiter is a due run in the queues of limits. It stands for all runs of its job that name the same limits.
//
// It stays in the queue of every limit that it has had to wait for, until it starts. So it keeps its place at one limit
// while it waits for another, and cannot be overtaken for ever. All queues have the same order, so two runs never wait for
// each other.
type limitWaiter struct {
	job      *jobState
	run      string
	priority int
	since    time.Time
	at       []*limitState
	held     bool // by holdPlace: it has not had to wait for each of them
}

func compareWaiters(a, b *limitWaiter) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.since.Compare(b.since),
		strings.Compare(a.job.name, b.job.name), strings.Compare(a.run, b.run))
}

// ahead returns how many runs in the queue go before w.
func (l *limitState) ahead(w *limitWaiter) int {
	i, _ := slices.BinarySearchFunc(l.waiting, w, compareWaiters)
	return i
}

// throttleReason returns the reason why the job's breaker, its rate or a limit prevents the start of r; "" if r may start. If r
// is due later, it judges by the time when r is due. If queue is true, a run that has to wait takes its place in the limits'
// queues.
func (p *Planner) throttleReason(j *jobState, r *job.Run, spec *job.Spec, now time.Time, queue bool) string {
	at := job.Later(r.Due, now)
	if r.Spec == nil {
		if why, until := j.throttled(r, at); why != "" {
			if !until.IsZero() {
				p.wakeAt(j, until)
			}
			return why
		}
	}
	if len(spec.Limits) == 0 {
		return ""
	}
	w := &limitWaiter{job: j, run: r.ID, priority: spec.Priority, since: j.queuedSince(r)}
	holder, why, undefined := j.live.get(r.ID), "", false
	for _, name := range spec.Limits {
		l, own := p.limit(name), 0
		if holder != nil && isAssigned(holder) && slices.Contains(holder.Limits, name) {
			own = 1
		}
		before := l.ahead(w)
		if at.After(now) { // a run that is armed ahead overtakes no waiting run
			before = len(l.waiting)
		}
		if l.free(at, own) > before {
			continue
		}
		if why == "" {
			why = l.reason(l.held+l.reserved-own, before)
		}
		if l.def == nil && !undefined { // the limit may stay undefined for ever, so r keeps no place at the other limits
			undefined, why, w.at = true, l.reason(0, 0), nil
		}
		if undefined && l.def != nil {
			continue
		}
		w.at = append(w.at, l)
	}
	if why != "" && queue {
		if !undefined {
			p.addEarlierQueues(w, spec)
		}
		p.enqueue(w)
	}
	return why
}

// addEarlierQueues adds to w the limits that its run had to wait for before.
func (p *Planner) addEarlierQueues(w *limitWaiter, spec *job.Spec) {
	for _, old := range w.job.ensureThrottle().left {
		for _, l := range old.at {
			replaced := w.job.live.get(old.run) == nil && old.since.Equal(w.since) // it leaves its places to w
			if old.held || old.run != w.run && !replaced || !slices.Contains(spec.Limits, l.name) {
				continue
			}
			if l = p.limit(l.name); !slices.Contains(w.at, l) { // a new limitState if the old one was forgotten
				w.at = append(w.at, l)
			}
		}
	}
}

// keepPlaces puts r, which is about to be replaced, or the run that r replaces, back into the queues of limits until j is decided
// again. Otherwise another run would take the place that it has got at one limit while it waits for another.
func (p *Planner) keepPlaces(j *jobState, r *job.Run) {
	if j.throttle == nil {
		return
	}
	for _, w := range j.throttle.left {
		if w.since.Equal(j.queuedSince(r)) {
			for i, l := range w.at {
				w.at[i] = p.limit(l.name) // a new limitState if the old one was forgotten
			}
			p.enqueue(w)
		}
	}
}

// holdPlace keeps a place in the queues of limits for the first run of j that waits only for them, until j is decided again. d is
// another decision about j. Otherwise a later run of another job could take the limits meanwhile. At the start of a term or the end
// of a pause, most jobs first skip slots.
func (p *Planner) holdPlace(j *jobState, d *job.Decision, now time.Time) {
	if j.def == nil || len(j.def.Spec.Limits) == 0 || j.throttle != nil && len(j.throttle.queued) > 0 {
		return
	}
	begun := slices.Collect(j.live.haveBegun)
	for _, r := range j.live.order {
		if r.Due.After(now) {
			return
		}
		// A run that waits for its next attempt, or was approved, is due later than the runs that wait for it.
		if r.State == job.Pending && !r.Ahead && (d.Run == nil || d.Run.ID != r.ID) && !isBlocked(r, begun, j.def.Spec) {
			if p.waitsForLimits(j, r, d, now) {
				p.hold(j, r)
			}
			return
		}
	}
}

// waitsForLimits reports whether only limits can prevent the start of r after the decision d.
func (p *Planner) waitsForLimits(j *jobState, r *liveRun, d *job.Decision, now time.Time) bool {
	spec := j.def.Spec
	if until, bound := p.startsBy(j, r.Run); bound && !now.Before(until) || r.NeedsApproval(spec) || !p.mayAssign(j, r.Run) {
		return false
	}
	if why, _ := j.throttled(r.Run, now); why != "" {
		return false
	}
	armed := d.Run != nil && d.Run.State == job.Armed
	if armed && !p.mayOverlap(j, r.Run) {
		return false
	}
	worker, _ := p.choose(j, spec, r.Run, now)
	return worker != nil
}

// hold puts r into the queues in which it was, or into those of all its limits.
func (p *Planner) hold(j *jobState, r *liveRun) {
	spec := j.def.Spec
	w, limits := &limitWaiter{job: j, run: r.ID, priority: spec.Priority, since: j.queuedSince(r.Run), held: true}, spec.Limits
	if i := slices.IndexFunc(j.ensureThrottle().left, func(old *limitWaiter) bool { return old.run == r.ID }); i >= 0 {
		old := j.throttle.left[i]
		limits, w.held = old.limits(), old.held
	}
	for _, name := range limits {
		l := p.limit(name)
		if w.at = append(w.at, l); l.def == nil {
			p.forgetLimit(l)
			return
		}
	}
	p.enqueue(w)
}

// limits returns the names of the limits in whose queues w is.
func (w *limitWaiter) limits() (names []string) {
	for _, l := range w.at {
		names = append(names, l.name)
	}
	return names
}

// enqueue puts w into the queues of its limits, unless its run is there already.
func (p *Planner) enqueue(w *limitWaiter) {
	th := w.job.ensureThrottle()
	if slices.ContainsFunc(th.queued, func(other *limitWaiter) bool { return other.run == w.run }) {
		return
	}
	for _, l := range w.at {
		l.waiting = slices.Insert(l.waiting, l.ahead(w), w)
		p.contended[l] = true
	}
	th.queued = append(th.queued, w)
}

// leaveQueues takes the runs of j out of the queues of limits, because j is about to be decided.
func (p *Planner) leaveQueues(j *jobState) {
	if j.throttle == nil {
		return
	}
	j.throttle.left, j.throttle.queued = j.throttle.queued, nil
	for _, w := range j.throttle.left {
		for _, l := range w.at {
			if i := l.ahead(w); i < len(l.waiting) && l.waiting[i] == w {
				l.waiting = slices.Delete(l.waiting, i, i+1)
			}
			if len(l.waiting) == 0 {
				delete(p.contended, l)
				p.forgetLimit(l)
			}
		}
	}
}

// withLimits returns up to n jobs whose runs waited for limits and can have them now.
func (p *Planner) withLimits(n int, now time.Time) (list []*jobState) {
	for l := range p.contended {
		for i := 0; i < min(l.free(now, 0), len(l.waiting)) && len(list) < n; i++ {
			w := l.waiting[i]
			waits := func(l *limitState) bool { return l.free(now, 0) <= l.ahead(w) }
			if !w.job.busy && !slices.ContainsFunc(w.at, waits) {
				list = append(list, w.job)
			}
		}
	}
	return list
}

// nextTurn returns when the rate of a limit next lets a waiting run start; zero if only a change in the store can.
func (p *Planner) nextTurn(now time.Time) (first time.Time) {
	for l := range p.contended {
		if l.def == nil || l.def.Spec.Rate.IsZero() || l.full(0) {
			continue
		}
		if at := l.pace.Next(now, l.def.Spec.Rate.Interval()); at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
