package backend

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// slowStore simulates a lost answer. It applies a request to stop a run, and its worker ends the run. Then it answers with a
// conflict, as to the repeated request.
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

// takenStore simulates a lost answer. It creates a run, and then changes the run by then. Then it answers with a conflict, as to
// the repeated request.
type takenStore struct {
	then func(r job.Run) job.Run
	err  error // the conflict
}

func (s takenStore) Submit(_ context.Context, r job.Run, _ ...job.Run) (job.Run, error) {
	r.Rev = 8
	return s.then(r), s.err
}

func TestASubmissionThatTookEffectIsNoConflict(t *testing.T) {
	given := func(r job.Run) job.Run { r.State, r.Worker, r.Rev = job.Armed, "q1", 9; return r }
	elder := func(r job.Run) job.Run { r = given(r); r.Created = r.Created.Add(-time.Nanosecond); return r }
	others := func(r job.Run) job.Run { r = given(r); r.By = "you"; return r }
	gone := func(job.Run) job.Run { return job.Run{} }
	lost := fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, job.ErrConflict) // an answer was lost
	keyed := job.Run{Job: "pay", ID: "key-1", Key: "k", By: "me", Created: time.Now()}
	for name, c := range map[string]struct {
		run     job.Run
		then    func(job.Run) job.Run
		err     error
		created bool
		is      error
	}{
		"given to a worker":                    {job.Run{Job: "pay", ID: "a"}, given, lost, true, nil},
		"not there any more":                   {job.Run{Job: "pay", ID: "a"}, gone, lost, false, context.DeadlineExceeded},
		"with a key: given to a worker":        {keyed, given, lost, true, nil},
		"with a key: of the same nanosecond":   {keyed, given, job.ErrConflict, false, nil},
		"with a key: an earlier one's":         {keyed, elder, lost, false, nil},
		"with a key: somebody else's":          {keyed, others, lost, false, nil},
		"with a key: nobody knows whose it is": {keyed, gone, lost, false, job.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			made, created, err := makeRun(t.Context(), takenStore{c.then, c.err}, c.run)
			if created != c.created || !errors.Is(err, c.is) || err == nil && made.State != job.Armed {
				t.Errorf("got %s, created %v, %v; want created %v, %v", made.State, created, err, c.created, c.is)
			}
		})
	}
}
