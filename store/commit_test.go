package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestADeposedLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		first := commit(t, s, term, fire(slot("j", 1), 0))[0]
		if first.Err != nil {
			t.Fatal(first.Err)
		}
		deposed := remove(t, c, term.Key)
		again := reign(t, c, "a") // the same key, another term

		ds := []job.Decision{fire(slot("j", 2), first.Rev), fire(slot("k", 1), 0), {Job: "l", Event: &job.Event{ID: "e", Job: "l"}}}
		for i, a := range commit(t, s, term, ds...) {
			if !errors.Is(a.Err, election.ErrTermLost) {
				t.Errorf("decision %d: got %v, want %v", i, a.Err, election.ErrTermLost)
			}
		}
		for _, a := range commit(t, s, election.Term{Key: prefix + "/election/nobody"}, ds...) {
			if !errors.Is(a.Err, election.ErrTermLost) {
				t.Errorf("no term: got %v, want %v", a.Err, election.ErrTermLost)
			}
		}
		resp, err := c.Get(within(t), prefix+"/", clientv3.WithPrefix(), clientv3.WithMinModRev(deposed))
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range resp.Kvs {
			if string(kv.Key) != term.Key {
				t.Errorf("%s was written after the term", kv.Key)
			}
		}
		if got := s.Counts().Fenced; got != 3 {
			t.Errorf("got %d fenced, want 3", got)
		}
		if a := commit(t, s, again, ds[0])[0]; a.Err != nil {
			t.Errorf("next term: %v", a.Err)
		}
	})
}

func TestAStaleDecisionFailsAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		was := commit(t, s, term, fire(slot("b", 1), 0))[0]
		j, err := s.PutJob(within(t), definition("d"))
		if err != nil {
			t.Fatal(err)
		}
		gone := fire(slot("d", 1), 0)
		gone.JobRev = j.Rev + 1
		out := commit(t, s, term, fire(slot("a", 1), 0), fire(slot("b", 1), was.Rev), fire(slot("c", 1), 0), gone)
		if out[0].Err != nil || out[2].Err != nil {
			t.Errorf("the others: got %v, %v, want nil", out[0].Err, out[2].Err)
		}
		b := out[1]
		if !errors.Is(b.Err, job.ErrConflict) || b.Run == nil || b.Run.Rev != was.Rev || b.Cursor == nil || b.Cursor.Rev != was.Rev {
			t.Errorf("stale: got %+v, want a conflict with the records at %d", b, was.Rev)
		}
		if d := out[3]; !errors.Is(d.Err, job.ErrConflict) || d.Run != nil || d.Cursor != nil {
			t.Errorf("of another definition: got %+v, want a conflict without records", d)
		}
		if n := s.Counts(); n.Conflicts != 2 {
			t.Errorf("got %d conflicts, want 2", n.Conflicts)
		}
	})
}

// A decision creates the run of a slot only together with a move of the present cursor.
func TestARunIsCreatedOnlyWithItsCursor(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		first := commit(t, s, term, fire(slot("j", 1), 0))[0]
		second := commit(t, s, term, fire(slot("j", 2), first.Rev))[0]
		if first.Err != nil || second.Err != nil {
			t.Fatal(first.Err, second.Err)
		}
		third := slot("j", 3)
		run := s.keys.run(third.Job, third.ID)
		a := commit(t, s, term, fire(third, first.Rev))[0]
		if !errors.Is(a.Err, job.ErrConflict) || a.Run != nil || a.Cursor == nil || a.Cursor.Rev != second.Rev {
			t.Errorf("with a stale cursor: got %+v, want a conflict with the cursor at %d and no run", a, second.Rev)
		}
		if got := value(t, c, run); got != "" {
			t.Errorf("with a stale cursor: the run was created: %s", got)
		}
		a = commit(t, s, term, fire(third, second.Rev))[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, key := range []string{run, s.keys.cursor(third.Job)} {
			if resp, err := c.Get(within(t), key); err != nil || len(resp.Kvs) != 1 || resp.Kvs[0].ModRevision != a.Rev {
				t.Errorf("%s after the decision: got %v, %v, want it written by that, at %d", key, resp, err, a.Rev)
			}
		}
	})
}

// A leader that does not know yet that all jobs were paused or resumed arms no run.
func TestPauseOfAllJobsRefusesStaleDecisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		arm := func(name string, gate int64) error {
			d := fire(slot(name, 1), 0)
			d.Run.State, d.Run.Worker, d.Run.Session, d.Gate = job.Armed, "w", "1", gate
			return commit(t, s, term, d)[0].Err
		}
		if err := arm("before", 0); err != nil {
			t.Fatal(err)
		}
		pending := slot("pending", 1)
		pending.Rev = commit(t, s, term, fire(pending, 0))[0].Rev
		g, err := s.PutGate(within(t), job.Gate{Paused: &job.Pause{At: epoch}})
		if err != nil {
			t.Fatal(err)
		}
		if err := arm("unawares", 0); !errors.Is(err, job.ErrConflict) {
			t.Errorf("armed by a leader that knows of no pause: got %v, want %v", err, job.ErrConflict)
		}
		if err := commit(t, s, term, fire(slot("waits", 1), 0))[0].Err; !errors.Is(err, job.ErrConflict) {
			t.Errorf("a slot's run that waits, by a leader that knows of no pause: got %v, want %v", err, job.ErrConflict)
		}
		assign := job.Decision{Job: pending.Job, Run: given(pending, "w")}
		if err := commit(t, s, term, assign)[0].Err; !errors.Is(err, job.ErrConflict) {
			t.Errorf("a waiting run is armed by a leader that knows of no pause: got %v, want %v", err, job.ErrConflict)
		}
		if err := arm("aware", g.Rev); err != nil {
			t.Errorf("armed by a leader that knows the gate: got %v, want nil", err)
		}
	})
}

// TestAStaleGateRefusesItsDecisionsAlone commits decisions that depend on the gate together with one that does not.
func TestAStaleGateRefusesItsDecisionsAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		stale, err := s.PutGate(within(t), job.Gate{Paused: &job.Pause{At: epoch}})
		if err != nil {
			t.Fatal(err)
		}
		gate, err := s.PutGate(within(t), job.Gate{Since: epoch, Rev: stale.Rev})
		if err != nil {
			t.Fatal(err)
		}
		decisions := func(prefix string, revs ...int64) (ds []job.Decision) {
			for i, rev := range revs {
				d := fire(slot(fmt.Sprint(prefix, i), 1), 0)
				d.Gate = rev
				ds = append(ds, d)
			}
			free := slot(prefix+"-free", 1)
			free.State, free.Finished = job.Skipped, epoch
			return append(ds, job.Decision{Job: free.Job, Run: free})
		}
		for _, tt := range []struct {
			name    string
			ds      []job.Decision
			refused int // that many of the first decisions
		}{
			{"all know the gate", decisions("a", gate.Rev, gate.Rev, gate.Rev), 0},
			{"all know an earlier one", decisions("b", stale.Rev, stale.Rev, stale.Rev), 3},
			{"some know an earlier one", decisions("c", stale.Rev, stale.Rev, gate.Rev), 2},
		} {
			for i, a := range commit(t, s, term, tt.ds...) {
				if i < tt.refused != errors.Is(a.Err, job.ErrConflict) || i >= tt.refused && a.Err != nil {
					t.Errorf("%s, decision %d: got %v, want %d refused", tt.name, i, a.Err, tt.refused)
				}
			}
		}
		remove(t, c, term.Key)
		for i, a := range commit(t, s, term, decisions("d", gate.Rev, gate.Rev)...) {
			if !errors.Is(a.Err, election.ErrTermLost) {
				t.Errorf("after the term, decision %d: got %v, want %v", i, a.Err, election.ErrTermLost)
			}
		}
	})
}

func TestUnreadableRecordIsReported(t *testing.T) {
	c := fake(t, nil).Client()
	s, term := open(t, c), reign(t, c, "a")
	r := slot("j", 1)
	put(t, c, s.keys.run(r.Job, r.ID), "garbage")
	if a := commit(t, s, term, fire(r, 0))[0]; !errors.Is(a.Err, job.ErrConflict) || !a.Unreadable || a.Run != nil {
		t.Errorf("got %+v, want a conflict with something unreadable", a)
	}
}

func TestDecisionsOfOneJobHaveDifferentRevisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		var ds []job.Decision
		for n := range 5 {
			ds = append(ds, job.Decision{Job: "j", Run: given(slot("j", n), "w")}, job.Decision{Job: fmt.Sprint("k", n), Run: slot(fmt.Sprint("k", n), 1)})
		}
		seen := make(map[int64]bool)
		for i, a := range commit(t, s, term, ds...) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if ds[i].Job == "j" && seen[a.Rev] {
				t.Errorf("two runs of one job were armed at revision %d", a.Rev)
			}
			if ds[i].Job == "j" {
				seen[a.Rev] = true
			}
		}
		if n := s.Counts().Transactions; n > 6 {
			t.Errorf("got %d transactions, want the other jobs in those of the first", n)
		}
	})
}

func TestOrdersNameTheDefinitionOfEachRun(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		j, err := s.PutJob(within(t), job.Job{Name: "j1", Generation: 1})
		if err != nil {
			t.Fatal(err)
		}
		of, adHoc := fire(given(slot("j1", 1), "w"), 0), fire(given(slot("j2", 1), "w"), 0)
		of.JobRev = j.Rev
		commit(t, s, term, of, adHoc)
		ctx, cancel := context.WithCancel(within(t))
		got := make(map[string]int64)
		_ = s.Orders(ctx, "w", func(o job.Order) {
			for i := range o.Runs {
				got[o.Runs[i].Job] = o.JobRevs[i]
			}
			if len(got) == 2 {
				cancel()
			}
		})
		if got["j1"] != j.Rev || got["j2"] != 0 || len(got) != 2 {
			t.Errorf("got %v, want j1 armed from revision %d, and j2 from none", got, j.Rev)
		}
	})
}
