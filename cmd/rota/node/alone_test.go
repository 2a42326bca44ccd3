package node

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAReplicaOnItsOwn tests the main features of one replica. Later steps use the jobs of earlier ones.
func TestAReplicaOnItsOwn(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"slots run and leave a history", r.runsSlots},
		{"a pause skips slots, and says so", r.skipsSlotsInAPause},
		{"one of many simultaneous deletions succeeds", r.deletesAJobOnce},
		{"a deleted job's runs stay and can be explained", r.explainsADeletedJob},
		{"a key makes a submission idempotent, job by job", r.submitsOnceForAKey},
		{"a run for later waits, and can be canceled", r.cancelsADelayedRun},
		{"a cancel ends a running run", r.killsARun},
		{"a retry is a new run that names the old one", r.retriesARun},
		{"a command runs without a job", r.runsACommand},
		{"a payload that no variable takes is refused", r.refusesALargePayload},
		{"changes of clocks are noted as far as slots are listed", r.notesClockChanges},
		{"missing output is not found", r.hasNoOutput},
		{"a pause of all jobs holds runs back", r.pausesAllJobs},
		{"an invalid definition is refused, with its fields", r.refusesADefinition},
		{"the cluster is shown", r.showsTheCluster},
		{"garbage that was put by hand is quarantined", r.quarantinesGarbage},
		{"the invariants hold", r.keepsTheInvariants},
		{"a new process continues with the same data", r.restarts},
	} {
		t.Run(step.name, step.run)
	}
}

func (r *running) runsSlots(t *testing.T) {
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Command: []string{"echo", "hi"}})
	eventually(t, "three runs have succeeded", func() bool {
		page, err := r.Runs(t.Context(), client.RunFilter{Job: "tick", States: []job.State{job.Succeeded}}, "")
		return err == nil && len(page.Runs) >= 3
	})
	v, err := r.Job(t.Context(), "tick")
	if err != nil || v.Last == nil || v.Next == nil {
		t.Errorf("job: got %+v, %v; want a last and a next run", v, err)
	}
	if got := r.output(t, v.Last.Ref, 0, false); got != "hi\n" {
		t.Errorf("output: got %q", got)
	}
	next, err := r.Next(t.Context(), "tick", time.Time{}, 3)
	if err != nil || len(next.Slots) != 3 {
		t.Errorf("next: got %v, %v", next, err)
	}
	why, err := r.Explain(t.Context(), "tick", next.Slots[0].Add(-10*time.Minute))
	if err != nil || why.Verdict != "not scheduled" {
		t.Errorf("explain: got %+v, %v; want not scheduled", why, err)
	}
}

func (r *running) skipsSlotsInAPause(t *testing.T) {
	if _, err := r.PauseJob(t.Context(), "tick", "test"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, "a slot has passed", func() bool { return time.Since(began) > 2100*time.Millisecond })
	if _, err := r.ResumeJob(t.Context(), "tick", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the skipped slots are written down", func() bool {
		why, err := r.Explain(t.Context(), "tick", began.Add(time.Second).Truncate(time.Second))
		return err == nil && why.Verdict == "skipped" && strings.Contains(why.Text[0], "paused")
	})
}

func (r *running) deletesAJobOnce(t *testing.T) {
	for range 10 {
		if _, _, err := r.PutJob(t.Context(), "contested", job.Spec{Command: []string{"true"}}, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
		answers := make(chan error)
		for range 8 {
			go func() { answers <- r.DeleteJob(t.Context(), "contested", api.Precondition{}) }()
		}
		deleted := 0
		for range 8 {
			switch err := <-answers; {
			case err == nil:
				deleted++
			case !errors.Is(err, job.ErrNotFound):
				t.Errorf("got %v, want ErrNotFound", err)
			}
		}
		if deleted != 1 {
			t.Fatalf("%d deletions succeeded, want one", deleted)
		}
	}
}

func (r *running) explainsADeletedJob(t *testing.T) {
	var v api.JobView
	eventually(t, "a slot has run since the pause", func() bool {
		var err error
		v, err = r.Job(t.Context(), "tick")
		return err == nil && v.Last.State == job.Succeeded
	})
	if err := r.DeleteJob(t.Context(), "tick", api.Precondition{Revision: v.Revision - 1}); status(err) != 412 {
		t.Errorf("with an old revision: got %v, want 412", err)
	}
	if err := r.DeleteJob(t.Context(), "tick", api.Precondition{Revision: v.Revision}); err != nil {
		t.Fatal(err)
	}
	if err := r.DeleteJob(t.Context(), "tick", api.Precondition{}); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("again: got %v, want ErrNotFound", err)
	}
	run, err := r.Run(t.Context(), v.Last.Ref)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is explained", func() bool {
		why, err := r.Explain(t.Context(), "tick", run.Slot)
		return err == nil && strings.HasPrefix(why.Verdict, "ran")
	})
	if _, err := r.Retry(t.Context(), v.Last.Ref); status(err) != 409 {
		t.Errorf("retry: got %v, want 409", err)
	}
}

func (r *running) notesClockChanges(t *testing.T) {
	r.put(t, "yearly", job.Spec{Schedule: []string{"30 2 26 3 *"}, Timezone: "Europe/Berlin", Shell: "true"})
	v, err := r.Next(t.Context(), "yearly", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), 3)
	if err != nil || !strings.Contains(strings.Join(v.Notes, "\n"), "2028-03-26: the clock in Europe/Berlin") {
		t.Errorf("got %+v, %v, want a note on the second slot", v, err)
	}
}
