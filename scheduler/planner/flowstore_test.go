package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// specs returns the definitions of all jobs.
func (s *fakeStore) specs() map[string]*job.Spec {
	specs := map[string]*job.Spec{}
	for key := range s.records {
		if key.kind == job.RecordJob && s.job(key.name) != nil {
			specs[key.name] = s.job(key.name).Spec
		}
	}
	return specs
}

// submitAll creates the first run of a workflow, and the runs behind it, in one transaction.
func (s *fakeStore) submitAll(r job.Run, behind []job.Run) {
	s.rev++
	for _, step := range append(behind, r) {
		s.write(job.Change{Kind: job.RecordRun, Name: step.Name(), Value: &step})
	}
}

// resume creates the runs with which a client continues a workflow from the run old, which has ended.
func (s *fakeStore) resume(old *job.Run, id string, now time.Time) {
	r := job.Run{
		Job: old.Job, ID: id, Kind: job.KindRetry, Slot: old.Slot, Due: now, State: job.Pending, Created: now,
		RetryOf: old.Name(), After: workflow.Follow(old),
	}
	if workflow.Waited(old) {
		r.Due, r.Reason = job.WhenParentsEnd, job.ReasonParents
	}
	records := workflow.Records{Run: s.run, Repeats: func(name string) (of []*job.Run) {
		return slices.DeleteFunc(s.runs(), func(r *job.Run) bool { return r.RetryOf != name })
	}}
	open := func(step string) bool {
		j := s.job(step)
		return workflow.OfSlot(old, s.run) && old.Slot.After(policy.SlotsAfter(j, nil)) && !s.cursor(step).Passed(old.Slot)
	}
	s.submitAll(r, workflow.Of(s.specs()).Resume(old, &r, records, open, func(string) int64 { return 1 }))
}
