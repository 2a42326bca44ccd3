package node

import (
	"context"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// slowStore applies a request to stop, does not say so, and lets the worker end the run before the request is sent again.
type slowStore struct{ record job.Run }

func (s *slowStore) Stop(_ context.Context, r job.Run) (job.Run, error) {
	s.record, _ = r.Finish(job.Outcome{State: job.Canceled, At: time.Now()})
	s.record.Rev = r.Rev + 2
	return s.record, job.ErrConflict
}

func (s *slowStore) Write(_ context.Context, r job.Run) (job.Run, error) {
	return s.record, job.ErrConflict
}

func TestACancelThatTookEffectIsNoConflict(t *testing.T) {
	s := &slowStore{}
	run := job.Run{Job: "pay", ID: "a", State: job.Running, Attempt: 1, Worker: "q1", Token: 6, Rev: 7}
	got, err := stopRun(t.Context(), s, run, job.Cancel{At: time.Now(), By: "me", Reason: "wrong amount"})
	if err != nil || got.State != job.Canceled {
		t.Errorf("got %s, %v, want it canceled", got.State, err)
	}
	if _, err := stopRun(t.Context(), s, got, job.Cancel{At: time.Now(), By: "somebody else"}); err == nil {
		t.Error("a run that has ended was canceled again")
	}
}
