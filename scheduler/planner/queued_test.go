package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestSubmittedRunsTakeNoPlaceOfSlots decides a slot behind as many submitted runs as slots may wait. The slot waits too.
func TestSubmittedRunsTakeNoPlaceOfSlots(t *testing.T) {
	for _, overlap := range []job.Overlap{job.OverlapQueue, job.OverlapAllow} {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely, Overlap: overlap})
		for i := range planner.MaxQueued {
			run := job.Run{
				Job: "j", ID: fmt.Sprintf("m%03d", i), Kind: job.KindManual, Slot: r.now, Due: r.now, Created: r.now, State: job.Pending,
			}
			r.store.rev++
			r.store.write(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
		}
		r.lead()
		r.now = r.now.Add(time.Minute)
		if d := r.plan(); d.Run == nil || d.Run.ID != job.SlotID(r.now) || d.Run.State != job.Pending {
			t.Errorf("overlap: %s: got %+v, want a run of the slot that waits", overlap, d.Run)
		}
	}
}

// TestAtMostAHundredRunsOfAStepWait decides a step while as many of its runs wait as may, and while one less does.
func TestAtMostAHundredRunsOfAStepWait(t *testing.T) {
	for waiting, want := range map[int]job.State{planner.MaxQueued - 1: job.Pending, planner.MaxQueued: job.Skipped} {
		r := newRig(t)
		r.define("load", job.Spec{Every: minutely})
		r.define("step", job.Spec{After: []job.After{{Job: "load"}}, Overlap: job.OverlapAllow})
		put := func(name string, slot time.Time, s job.State) {
			run := job.Run{Job: name, ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, Created: slot, State: s}
			if s.Terminal() {
				run.Finished = slot
			}
			r.store.rev++
			r.store.write(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
		}
		for i := range waiting {
			put("step", r.now.Add(-time.Duration(i)*time.Minute), job.Pending)
		}
		r.now = r.now.Add(time.Minute)
		put("load", r.now, job.Succeeded)
		r.lead()
		var got job.State
		for _, d := range r.Plan(r.now, 10) {
			if d.Run != nil && d.Run.Name() == "step/"+job.SlotID(r.now) {
				got = d.Run.State
			}
		}
		if got != want {
			t.Errorf("behind %d waiting runs: got %q, want %q", waiting, got, want)
		}
	}
}

// TestRunsOnEveryWorkerDoNotQueue decides a slot beside as many runs on every worker as slots may wait. Their copies run.
func TestRunsOnEveryWorkerDoNotQueue(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow, Workers: map[string]string{job.EveryWorker: "true"}})
	r.worker("a", 1000)
	for i := range planner.MaxQueued {
		slot := r.now.Add(-time.Duration(i) * time.Minute)
		run := job.Run{Job: "j", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Created: slot, State: job.Pending}
		run = run.SpreadOver([]string{"a"}, slot)
		run.Copied = true
		part := run.Copy("a", slot)
		part.State, part.Worker, part.Session, part.Attempt, part.Armed, part.Started = job.Running, "a", "a-1", 1, slot, slot
		for _, run := range []job.Run{run, part} {
			r.store.rev++
			r.store.write(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
		}
	}
	r.lead()
	r.now = r.now.Add(time.Minute)
	if d := r.plan(); d.Run == nil || d.Run.ID != job.SlotID(r.now) || d.Run.State != job.Pending || d.Run.Copies == nil {
		t.Errorf("got %+v, want a run of the slot with its copy", d.Run)
	}
}
