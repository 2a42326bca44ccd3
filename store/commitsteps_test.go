package store

import (
	"errors"
	"testing"

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
		decide := func(rev int64) error {
			d := fire(step, 0)
			d.Guards = []job.Guard{{Kind: job.RecordRun, Name: parent.Name(), Rev: rev}}
			return commit(t, s, term, d)[0].Err
		}
		record := value(t, c, key)
		edited, err := c.Put(within(t), key, record)
		if err != nil {
			t.Fatal(err)
		}
		if err := decide(known.Rev); !errors.Is(err, job.ErrConflict) {
			t.Errorf("after the parent's record was edited: got %v, want a conflict", err)
		}
		if _, err := c.Delete(within(t), key); err != nil {
			t.Fatal(err)
		}
		if err := decide(edited.Header.Revision); !errors.Is(err, job.ErrConflict) {
			t.Errorf("after the parent's record was removed: got %v, want a conflict", err)
		}
		if got := value(t, c, s.keys.run(step.Job, step.ID)); got != "" {
			t.Errorf("a refused decision created the step: %s", got)
		}
		back, err := c.Put(within(t), key, record)
		if err != nil {
			t.Fatal(err)
		}
		if err := decide(back.Header.Revision); err != nil {
			t.Errorf("with the parent's present record: %v", err)
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
	})
}
