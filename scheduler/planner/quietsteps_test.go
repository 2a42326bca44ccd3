package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// uncovered returns the first time from a time on, and before another one, that lies in none of the stretches.
func uncovered(from, to time.Time, blocked ...[]stretch) (at time.Time, ok bool) {
	for from.Before(to) {
		next := from
		for _, list := range blocked {
			for _, s := range list {
				if s.has(from) {
					next = job.Later(next, s.to)
				}
			}
		}
		if next.Equal(from) {
			return from, true
		}
		from = next
	}
	return to, false
}

// waited judges when a run began: as soon as nothing of what the documentation names held it back.
func (g *judge) waited(l *life) {
	j := g.store.job(l.Job)
	if l.ended.IsZero() {
		g.fail("run %s has not ended: %s", l.Name(), describe(l.Run))
		return
	}
	g.startedWithin(j, l)
	var others []stretch
	for _, o := range g.of(l.Job) {
		if o == l || g.always(l.Job, job.OverlapAllow) || o.Kind == job.KindBackfill {
			continue
		}
		for _, begin := range [][]time.Time{o.armed, o.started} {
			if len(begin) > 0 {
				others = append(others, stretch{begin[0], o.ended})
			}
		}
		if !o.asked.IsZero() {
			others = append(others, stretch{o.asked, o.ended})
		}
	}
	person, throttling := []stretch{{l.asked, l.approved}}, g.throttling(l)
	if len(l.After) > 0 && l.Kind != job.KindScheduled {
		g.chained(l)
	}
	for i, at := range l.started {
		due, queued := l.wanted(), l.queued()
		if i > 0 && i <= len(l.due) {
			due, queued = l.due[i-1], l.due[i-1]
		}
		if at.Before(due) {
			g.fail("attempt %d of %s began at %v, before its time %v", i+1, l.Name(), at, due)
		}
		if l.Kind == job.KindBackfill { // it yields to other runs
			continue
		}
		if idle, ok := uncovered(due, at, g.down, g.paused[""], g.paused[l.Job], others, person, g.limited(l, queued), throttling, g.unnoticed(l)); ok {
			g.fail("attempt %d of %s (%s) began at %v, but nothing held it back at %v", i+1, l.Name(), j.Spec.Overlap, at, idle)
		}
		if i > 0 && within(at, g.paused[""], g.paused[l.Job]) && !g.preparedBefore(l, i, at) {
			g.fail("attempt %d of %s began in a pause", i+1, l.Name())
		}
	}
	retries := 0
	if j.Spec.Retry != nil {
		retries = j.Spec.Retry.Max
	}
	lost := len(l.losses)
	if n := len(l.started) - lost; n > 1+retries || l.State == job.Failed && n < 1+retries && l.Cancel == nil {
		g.fail("run %s has %d attempts that were not lost, retry.max is %d", l.Name(), n, retries)
	}
	switch once := j.Spec.Delivery == job.AtMostOnce; {
	case once && (lost > 1 || lost == 1 && l.State != job.Lost && l.State != job.Canceled):
		g.fail("run %s was repeated although its worker was lost: %s", l.Name(), describe(l.Run))
	case !once && l.State == job.Lost && lost < 5:
		g.fail("run %s was not repeated although its worker was lost: %s", l.Name(), describe(l.Run))
	}
}

// unnoticed returns for how long a new leader did not know that the worker of a run was dead.
func (g *judge) unnoticed(l *life) (list []stretch) {
	for _, d := range g.down {
		for i, h := range l.holds {
			if g.dead[l.at[i]] && h.has(d.to) && !h.to.After(d.to.Add(planner.DefaultWorkerTTL)) {
				list = append(list, stretch{d.to, h.to})
			}
		}
	}
	return list
}

// chained judges a run of a workflow that a client or a backfill started, by the runs that it follows.
func (g *judge) chained(l *life) {
	var unmet []string
	for i := range l.After {
		a := &l.After[i]
		p := g.lives[a.Job+"/"+a.RunID(l.Run)]
		s := stepSlot{skipped: true}
		if p != nil {
			s = stepSlot{state: p.State, skipped: p.State == job.Skipped && (len(p.After) == 0 || p.SlotSkipped)}
		}
		if !s.meets(a.When) {
			unmet = append(unmet, a.Job)
		}
		switch {
		case p == nil || len(l.started) == 0:
		case p.end().After(l.first()):
			g.fail("run %s began at %v, before %s had ended", l.Name(), l.first(), p.Name())
		}
	}
	alone := l.RepeatedAlone() && l.Kind == job.KindRetry // a person decides
	byParent := strings.HasPrefix(l.Reason, "parent ")
	if l.State != job.Canceled && !alone && (len(unmet) > 0) != byParent {
		g.fail("run %s is %s (%s), but these parents did not end as they had to: %v", l.Name(), l.State, l.Reason, unmet)
	}
}

// preparedBefore reports whether an attempt was armed before the pause or outage in which it began.
func (g *judge) preparedBefore(l *life, i int, at time.Time) bool {
	return i < len(l.armed) && l.armed[i].Before(at)
}

// startedWithin judges start_within.
func (g *judge) startedWithin(j *job.Job, l *life) {
	bound, waited := j.Spec.StartWithin.Std(), strings.HasPrefix(l.Reason, "waited longer")
	if bound == 0 {
		if waited {
			g.fail("run %s: %s", l.Name(), l.Reason)
		}
		return
	}
	since := job.Later(l.wanted(), l.created) // ready is when its parents had ended
	switch {
	case !l.approved.IsZero():
		since = l.approved
	case len(l.After) > 0 && l.Kind != job.KindScheduled:
		since = l.created
	case len(l.After) > 0:
		since = job.Earlier(g.began(l), l.created) // a root may be canceled before its slot
	}
	switch by := since.Add(bound); {
	case waited && l.ended.Before(by):
		g.fail("run %s was skipped at %v, but it may wait until %v", l.Name(), l.ended, by)
	case waited && !l.asked.IsZero() && l.approved.IsZero():
		g.fail("run %s was skipped by start_within while it waited for a person", l.Name())
	case waited:
		if idle, ok := uncovered(job.Later(job.Later(by, l.created), l.ready), l.ended, g.down); ok {
			g.fail("run %s was skipped at %v, but its time was over at %v", l.Name(), l.ended, idle)
		}
	case l.created.Before(l.wanted()): // armed ahead: if it was taken back, its slot was decided again, and nobody recorded when
	case len(l.started) > 0 && l.first().After(by):
		g.fail("run %s began at %v, but it had to begin by %v", l.Name(), l.first(), by)
	}
}

// began returns when the workflow of a step was due: when the first of the runs without parents before it was.
func (g *judge) began(l *life) time.Time {
	if len(l.After) == 0 {
		return job.Later(l.wanted(), l.created)
	}
	first := never
	for i := range l.After {
		if p := g.lives[l.After[i].Job+"/"+l.After[i].RunID(l.Run)]; p != nil {
			first = job.Earlier(first, g.began(p))
		}
	}
	return first
}

// stepSlot is what the documentation says about the slot of a job in a workflow.
type stepSlot struct {
	state   job.State // "": it has no record
	skipped bool      // a job without parents has skipped the slot, or lacks a record
}

// meets is the table of parents in the reference of job files.
func (s stepSlot) meets(when job.When) bool {
	switch {
	case s.state == "" || s.skipped:
		return false
	case when == job.WhenDone:
		return true
	case when == job.WhenFailure:
		return s.state == job.Failed || s.state == job.TimedOut || s.state == job.Lost
	}
	return s.state == job.Succeeded
}

// slotOf returns how a job ended a slot.
func (g *judge) slotOf(name, id string) stepSlot {
	l, j := g.lives[name+"/"+id], g.store.job(name)
	if l == nil {
		return stepSlot{skipped: true}
	}
	s := stepSlot{state: l.State}
	if l.State != job.Skipped {
		return s
	}
	s.skipped = len(j.Spec.After) == 0
	for _, a := range j.Spec.After {
		s.skipped = s.skipped || g.slotOf(a.Job, id).skipped
	}
	return s
}

// steps judges the slots of all steps.
func (g *judge) steps() {
	for _, name := range []string{"b", "c", "d"} {
		j := g.store.job(name)
		ids := map[string]bool{}
		for _, a := range append(slices.Clone(j.Spec.After), job.After{Job: name}) {
			for _, l := range g.of(a.Job) {
				if l.Kind == job.KindScheduled {
					ids[l.ID] = true
				}
			}
		}
		for id := range ids {
			if why := g.refuteStep(j, id); why != "" {
				g.fail("step %s/%s %s", name, id, why)
			}
		}
	}
}

// refuteStep returns what is wrong with the slot of a step; "" if nothing is.
func (g *judge) refuteStep(j *job.Job, id string) string {
	l := g.lives[j.Name+"/"+id]
	if l == nil {
		return "has no record"
	}
	var unmet []string
	var ready time.Time
	for _, a := range j.Spec.After {
		p := g.lives[a.Job+"/"+id]
		if !g.slotOf(a.Job, id).meets(a.When) {
			unmet = append(unmet, a.Job)
		}
		if p != nil {
			ready = job.Later(ready, p.ended)
		}
	}
	byParent := strings.HasPrefix(l.Reason, "parent ")
	switch {
	case l.created.Before(ready):
		return fmt.Sprintf("was decided at %v, before its parents had ended at %v", l.created, ready)
	case len(unmet) == 0 && byParent:
		return "was skipped, but each parent ended as it had to: " + l.Reason
	case len(unmet) > 0 && (!byParent || l.State != job.Skipped):
		return fmt.Sprintf("is %s (%s), but %v did not end as it had to", l.State, l.Reason, unmet)
	case len(unmet) > 0 && !slices.Contains(unmet, strings.Fields(l.Reason)[1]):
		return fmt.Sprintf("names another parent than %v: %s", unmet, l.Reason)
	}
	for _, a := range j.Spec.After {
		if g.lives[a.Job+"/"+id] == nil {
			return "" // nobody recorded when the parent passed the slot
		}
	}
	if idle, ok := uncovered(ready, l.created, g.down); ok {
		return fmt.Sprintf("was decided at %v, but its parents had ended at %v", l.created, idle)
	}
	return ""
}
