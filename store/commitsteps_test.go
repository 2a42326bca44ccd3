package store

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A step is decided by the records of its parents that the leader knows. If a person has edited or removed one since, the decision has
// no effect.
func TestAStepDependsOnTheRecordsOfItsParents(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		parent, step := slot("load", 1), slot("report", 1)
		key := s.keys.run(parent.Job, parent.ID)
		known := commit(t, s, term, fire(parent, 0))[0]
		if known.Err != nil {
			t.Fatal(known.Err)
		}
		decide := func(rev int64) job.Applied {
			d := fire(step, 0)
			d.Guards = []job.Guard{{Kind: job.RecordRun, Name: parent.Name(), Rev: rev}}
			return commit(t, s, term, d)[0]
		}
		record := value(t, c, key)
		edited, err := c.Put(within(t), key, record)
		if err != nil {
			t.Fatal(err)
		}
		now := edited.Header.Revision
		a := decide(known.Rev)
		if !errors.Is(a.Err, job.ErrConflict) || len(a.Guarded) != 1 || a.Guarded[0].Rev != now || a.Guarded[0].Deleted() {
			t.Errorf("after the parent's record was edited: got %+v, want a conflict with that record at %d", a, now)
		}
		if _, err := c.Delete(within(t), key); err != nil {
			t.Fatal(err)
		}
		a = decide(now)
		if !errors.Is(a.Err, job.ErrConflict) || len(a.Guarded) != 1 || a.Guarded[0].Rev != now+1 || !a.Guarded[0].Deleted() {
			t.Errorf("after the parent's record was removed: got %+v, want a conflict with its removal after %d", a, now)
		}
		if got := value(t, c, s.keys.run(step.Job, step.ID)); got != "" {
			t.Errorf("a refused decision created the step: %s", got)
		}
		back, err := c.Put(within(t), key, record)
		if err != nil {
			t.Fatal(err)
		}
		if a := decide(back.Header.Revision); a.Err != nil || a.Guarded != nil {
			t.Errorf("with the parent's present record: got %+v, want success", a)
		}
	})
}

// A backfilled slot is created together with the runs of its steps, or not at all.
func TestABackfilledSlotIsCreatedWithItsSteps(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		first, step := slot("extract", 1), slot("load", 1)
		order := func() job.Applied {
			d := fire(first, 0)
			d.Behind = []job.Run{*step}
			return commit(t, s, term, d)[0]
		}
		key := s.keys.run(step.Job, step.ID)
		if _, err := c.Put(within(t), key, "{}"); err != nil {
			t.Fatal(err)
		}
		if err := order().Err; !errors.Is(err, job.ErrConflict) {
			t.Errorf("the step has a record: got %v, want a conflict", err)
		}
		if got := value(t, c, s.keys.run(first.Job, first.ID)); got != "" {
			t.Errorf("a refused decision created the slot: %s", got)
		}
		if _, err := c.Delete(within(t), key); err != nil {
			t.Fatal(err)
		}
		a := order()
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, key := range []string{key, s.keys.run(first.Job, first.ID)} {
			if resp, err := c.Get(within(t), key); err != nil || len(resp.Kvs) != 1 || resp.Kvs[0].ModRevision != a.Rev {
				t.Errorf("%s: got %v, %v, want it written at %d", key, resp, err, a.Rev)
			}
		}
		if r, err := s.Run(within(t), step.Job, step.ID); err != nil || r.Term != term.Rev || r.Op == "" {
			t.Errorf("the step: got %+v (%v), want it written in the term %d", r, err, term.Rev)
		}
	})
}

// A slot of a backfill is created together with the move of the present backfill, or not at all.
func TestABackfilledSlotIsCreatedWithItsBackfill(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		create := func(n int, rev int64) job.Applied {
			r := slot("extract", n)
			b := &job.Backfill{
				Job: r.Job, From: epoch, To: epoch.Add(time.Hour), Order: job.OldestFirst, Concurrency: 1, State: job.BackfillRunning,
				Position: r.Slot, Rev: rev,
			}
			return commit(t, s, term, job.Decision{Job: r.Job, Run: r, Backfill: b})[0]
		}
		first := create(1, 0)
		if b, err := s.Backfill(within(t), "extract"); first.Err != nil || err != nil || b.Rev != first.Rev || b.Term != term.Rev {
			t.Fatalf("got %+v (%v), want it written at %d (%v) in the term %d", b, err, first.Rev, first.Err, term.Rev)
		}
		if a := create(2, first.Rev-1); !errors.Is(a.Err, job.ErrConflict) {
			t.Errorf("by a leader with an earlier record of the backfill: got %v, want a conflict", a.Err)
		}
		if a := create(2, first.Rev); a.Err != nil {
			t.Errorf("by a leader with the present record: %v", a.Err)
		}
	})
}
