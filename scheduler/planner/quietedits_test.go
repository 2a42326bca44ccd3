package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// era is the time during which a job has a definition.
type era struct {
	stretch
	spec *job.Spec
}

// jitter returns how much later than its slots a job is due. No edit changes it.
func (q *quiet) jitter(name string) time.Duration {
	return schedule.Offset(name, q.store.job(name).Spec.Jitter.Std())
}

// edit changes the period or a policy of a job that has slots of its own.
func (q *quiet) edit(name string) {
	if name == "" || q.store.job(name).Spec.Step() {
		return
	}
	spec := *q.store.job(name).Spec
	switch q.IntN(3) {
	case 0:
		spec.Every = job.Duration(10+5*q.IntN(5)) * job.Duration(time.Second)
	case 1:
		spec.Overlap = job.OverlapPolicies()[q.IntN(4)]
	case 2:
		spec.Missed = job.MissedPolicies()[q.IntN(3)]
	}
	q.define(name, spec)
}

// schedules returns the eras of a job, as one if they follow each other with the same schedule.
func (q *quiet) schedules(name string) (list []era) {
	for _, e := range q.eras[name] {
		if n := len(list); n > 0 && list[n-1].spec.Every == e.spec.Every {
			list[n-1].to = e.to
		} else {
			list = append(list, e)
		}
	}
	return list
}

// during returns the definitions that a job had in a stretch of time, with its end.
func (q *quiet) during(name string, from, to time.Time) (specs []*job.Spec) {
	for _, e := range q.eras[name] {
		if e.from.Compare(to) <= 0 && e.to.After(from) {
			specs = append(specs, e.spec)
		}
	}
	return specs
}

// ever reports whether a job ever had an overlap.
func (q *quiet) ever(name string, o job.Overlap) bool {
	return slices.ContainsFunc(q.eras[name], func(e era) bool { return e.spec.Overlap == o })
}

// always reports whether a job had no other overlap.
func (q *quiet) always(name string, o job.Overlap) bool {
	return !slices.ContainsFunc(q.eras[name], func(e era) bool { return e.spec.Overlap != o })
}

// refuteEdited returns why a slot of a schedule must not have had its fate. The old schedule owes nothing after an edit. The new one
// begins after the slot that was armed ahead.
func (g *judge) refuteEdited(name string, e era, s, decided time.Time, reason string) string {
	changed := "the schedule was changed before this slot ran"
	ahead := func(l *life) bool { return l.Kind == job.KindScheduled && l.created.Before(e.from) && l.Slot.After(s) }
	switch {
	case reason == policy.ReasonOvertaken && !slices.ContainsFunc(g.of(name), ahead):
		return "comes before no slot that was armed ahead"
	case reason == changed && decided.Before(e.to):
		return "was decided before the edit"
	case reason != changed && !decided.Before(e.to):
		return "was decided after the edit"
	}
	return ""
}

// busy returns when a job had active runs.
func (g *judge) busy(name string) (list []stretch) {
	for _, l := range g.of(name) {
		if l.Kind != job.KindBackfill {
			list = append(list, stretch{l.wanted(), l.end()})
		}
	}
	return list
}
