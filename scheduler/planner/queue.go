package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// limitWaiter is a run that is due and stands in the queues of limits, for all of its job's that name the same ones. It
// stands in those of all limits that it has had to wait for, until it begins: where its turn has come, a place is kept for
// it while it waits for another limit, or else it might be passed by for ever. Of two runs the same goes first everywhere,
// so that they never wait for each other.
type limitWaiter struct {
	job      *jobState
	run      string
	priority int
	since    time.Time
	at       []*limitState
}

func compareWaiters(a, b *limitWaiter) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.since.Compare(b.since), strings.Compare(a.job.name, b.job.name), strings.Compare(a.run, b.run))
}

// ahead is how many of those that wait go before w.
func (l *limitState) ahead(w *limitWaiter) int {
	i, _ := slices.BinarySearchFunc(l.waiting, w, compareWaiters)
	return i
}

// bar says why r may not begin though it has or will have a worker: for its job's breaker or rate, or a limit. "" if it
// may. A run that is due is asked about now, another one about its time. One that is due takes its place in the queues of
// the limits for which it has to wait, if asked to.
func (p *Planner) bar(j *jobState, r *job.Run, spec *job.Spec, now time.Time, queue bool) string {
	at := job.Later(r.Due, now)
	if r.Spec == nil {
		if why, until := j.heldBack(r, at); why != "" {
			if !until.IsZero() {
				p.wakeAt(j, until)
			}
			return why
		}
	}
	if len(spec.Limits) == 0 {
		return ""
	}
	w := &limitWaiter{job: j, run: r.ID, priority: spec.Priority, since: r.Due}
	holder, why, undefined := j.live.get(r.ID), "", false
	for _, name := range spec.Limits {
		l, own := p.limit(name), 0
		if holder != nil && isAssigned(holder) && slices.Contains(holder.Limits, name) {
			own = 1
		}
		before := l.ahead(w)
		if at.After(now) { // what is armed ahead goes before nobody
			before = len(l.waiting)
		}
		if l.free(at, own) > before {
			continue
		}
		if why == "" {
			why = l.why(l.held+l.reserved-own, before)
		}
		if l.def == nil && !undefined { // nobody knows for how long: no place is kept for it at the others
			undefined, why, w.at = true, l.why(0, 0), nil
		}
		if undefined && l.def != nil {
			continue
		}
		w.at = append(w.at, l)
	}
	if why != "" && queue {
		if undefined {
			p.keepPlaces(w)
		} else {
			p.enqueue(w, spec)
		}
	}
	return why
}

// enqueue gives w its place in the queues of the limits for which it has to wait, and of those for which it had to.
func (p *Planner) enqueue(w *limitWaiter, spec *job.Spec) {
	th := w.job.need()
	for _, old := range th.left {
		for _, l := range old.at {
			if old.run != w.run || !slices.Contains(spec.Limits, l.name) {
				continue
			}
			if l = p.limit(l.name); !slices.Contains(w.at, l) { // another one, if it was forgotten meanwhile
				w.at = append(w.at, l)
			}
		}
	}
	p.keepPlaces(w)
}

// keepPlaces puts w into the queues that it is to stand in.
func (p *Planner) keepPlaces(w *limitWaiter) {
	for _, l := range w.at {
		l.waiting = slices.Insert(l.waiting, l.ahead(w), w)
		p.contended[l] = true
	}
	th := w.job.need()
	th.queued = append(th.queued, w)
}

// leaveQueues takes the runs of j out of the queues of limits, since they are looked at.
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

// turns takes up to n jobs whose runs waited for limits and may have them now.
func (p *Planner) turns(n int, now time.Time) (list []*jobState) {
	for l := range p.contended {
		for i := 0; i < min(l.free(now, 0), len(l.waiting)) && len(list) < n; i++ {
			if w := l.waiting[i]; !w.job.busy && !slices.ContainsFunc(w.at, func(l *limitState) bool { return l.free(now, 0) <= l.ahead(w) }) {
				list = append(list, w.job)
			}
		}
	}
	return list
}

// nextTurn is when a limit for which runs wait is free again by the mere passing of time; zero if there is none.
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
