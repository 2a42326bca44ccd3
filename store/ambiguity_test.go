package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

// script decides the fate of the writing transactions of one client, with one step for each. Later transactions
// succeed.
type script struct {
	client atomic.Pointer[clientv3.Client]
	steps  []func(op mem.Op) mem.Verdict
	n      atomic.Int64
}

func (s *script) Before(op mem.Op) mem.Verdict {
	if op.Kind != mem.Txn || op.Client != s.client.Load() {
		return mem.Verdict{}
	}
	if r := op.Request.(*pb.TxnRequest); len(r.Success) > 0 && r.Success[0].GetRequestRange() != nil {
		return mem.Verdict{}
	}
	i := int(s.n.Add(1)) - 1
	if i >= len(s.steps) || s.steps[i] == nil {
		return mem.Verdict{}
	}
	return s.steps[i](op)
}

func strike(v mem.Verdict) func(mem.Op) mem.Verdict { return func(mem.Op) mem.Verdict { return v } }

// scripted returns a store whose transactions meet the faults in steps, and a client without faults.
func scripted(t *testing.T, steps ...func(mem.Op) mem.Verdict) (srv *mem.Server, s *Store, c *clientv3.Client) {
	faults := &script{steps: steps}
	srv = fake(t, faults)
	own := srv.Client()
	s, c = open(t, own), srv.Client()
	faults.client.Store(own)
	t.Cleanup(func() {
		if int(faults.n.Load()) < len(steps) {
			t.Errorf("only %d of %d faults struck", faults.n.Load(), len(steps))
		}
	})
	return srv, s, c
}

func TestAnUnansweredWriteRecognisesItself(t *testing.T) {
	lost := strike(mem.Verdict{Action: mem.Lose})
	ctx := context.Background()
	t.Run("a decision, and its order keeps the token", func(t *testing.T) {
		_, s, c := scripted(t, lost, lost)
		term := reign(t, c, "a")
		r := given(slot("j", 1), "w")
		a := commit(t, s, term, fire(r, 0))[0]
		resp, err := c.Get(ctx, s.keys.queue("w"), clientv3.WithPrefix())
		if err != nil || len(resp.Kvs) != 1 {
			t.Fatalf("got %d orders and %v, want one", len(resp.Kvs), err)
		}
		run, err := s.Run(ctx, r.Job, r.ID)
		if a.Err != nil || err != nil || a.Rev != term.Rev+1 || run.Rev != a.Rev || resp.Kvs[0].ModRevision != a.Rev {
			t.Errorf("got %+v, run at %d, order at %d, want all at %d", a, run.Rev, resp.Kvs[0].ModRevision, term.Rev+1)
		}
	})
	t.Run("a cursor, an event, removals", func(t *testing.T) {
		_, s, c := scripted(t, nil, lost, nil, lost, nil, lost, nil) // the first sending of each decision but the first is lost
		term := reign(t, c, "a")
		r := slot("j", 1)
		r.Rev = commit(t, s, term, fire(r, 0))[0].Rev
		for i, d := range []job.Decision{
			{Job: "j", Cursor: cursor(slot("j", 2), r.Rev), Event: &job.Event{ID: "e", Job: "j"}},
			{Job: "j", Event: &job.Event{ID: "f", Job: "j"}},
			{Job: "j", Deletions: []*job.Run{r}},
		} {
			if a := commit(t, s, term, d)[0]; a.Err != nil || a.Rev == 0 {
				t.Errorf("decision %d: got %+v, want success", i, a)
			}
		}
	})
	t.Run("but no removal of a record that is still there", func(t *testing.T) {
		_, s, c := scripted(t)
		term := reign(t, c, "a")
		gone, edited := slot("j", 1), slot("j", 2)
		gone.Rev = commit(t, s, term, fire(gone, 0))[0].Rev
		edited.Rev = commit(t, s, term, fire(edited, gone.Rev))[0].Rev
		put(t, c, s.keys.run("j", edited.ID), value(t, c, s.keys.run("j", edited.ID)))
		a := commit(t, s, term, job.Decision{Job: "j", Deletions: []*job.Run{gone, edited}})[0]
		if !errors.Is(a.Err, job.ErrConflict) || value(t, c, s.keys.run("j", gone.ID)) == "" {
			t.Errorf("got %v, want a conflict, and both records kept", a.Err)
		}
	})
	t.Run("everything that is written without a term", func(t *testing.T) {
		steps := make([]func(mem.Op) mem.Verdict, 14)
		for i := range steps {
			if i%2 == 0 { // each first sending is lost
				steps[i] = lost
			}
		}
		_, s, _ := scripted(t, steps...)
		j, err1 := s.PutJob(ctx, definition("j"))
		r, err2 := s.Submit(ctx, *slot("j", 1))
		r, err3 := s.Write(ctx, r)
		_, err4 := s.PutGate(ctx, job.Gate{Since: epoch})
		_, err5 := s.PutFiles(ctx, job.Files{Hash: "h"})
		err6 := s.Record(ctx, job.Event{ID: "e", Job: "j"})
		err7 := s.DeleteJob(ctx, "j", j.Rev)
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
			t.Error(err)
		}
		if got, err := s.Run(ctx, r.Job, r.ID); err != nil || got.Rev != r.Rev {
			t.Errorf("got run at %d (%v), want %d", got.Rev, err, r.Rev)
		}
	})
}

func TestALateWriteOfTheLeaderHasNoEffect(t *testing.T) {
	late := strike(mem.Verdict{Action: mem.Late})
	for name, steps := range map[string][]func(mem.Op) mem.Verdict{
		"one that creates":                    {late},
		"one that replaces":                   {nil, late},
		"one that comes after it was written": {nil, strike(mem.Verdict{Action: mem.Lose}), late},
	} {
		t.Run(name, func(t *testing.T) {
			srv, s, c := scripted(t, steps...)
			term := reign(t, c, "a")
			first := commit(t, s, term, fire(given(slot("j", 1), "w"), 0))[0]
			second := commit(t, s, term, job.Decision{Job: "j", Cursor: cursor(slot("j", 2), first.Rev)})[0]
			third := commit(t, s, term, job.Decision{Job: "j", Cursor: cursor(slot("j", 3), second.Rev)})[0]
			if first.Err != nil || second.Err != nil || third.Err != nil {
				t.Fatal(first.Err, second.Err, third.Err)
			}
			before := srv.Rev()
			if n := srv.Release(); n != 1 {
				t.Fatalf("released %d, want 1", n)
			}
			resp, err := c.Get(t.Context(), s.keys.cursor("j"))
			if err != nil || resp.Kvs[0].ModRevision != third.Rev || srv.Rev() != before {
				t.Errorf("cursor at %d, store at %d (%v), want %d and %d", resp.Kvs[0].ModRevision, srv.Rev(), err, third.Rev, before)
			}
		})
	}
}

func TestResentWriteConflictsWithALaterChange(t *testing.T) {
	var c *clientv3.Client
	var claimed job.Run
	claim := func(mem.Op) mem.Verdict { // the worker, between the two sendings
		other := New(Config{Prefix: prefix, Process: "w"}, c, nullLog)
		defer other.Close()
		run, err := other.Run(context.Background(), "j", slot("j", 1).ID)
		if err != nil {
			t.Error(err)
		}
		next, _ := run.Claim(run.Rev, epoch)
		if claimed, err = other.Write(context.Background(), next); err != nil {
			t.Error(err)
		}
		return mem.Verdict{}
	}
	_, s, c2 := scripted(t, strike(mem.Verdict{Action: mem.Lose}), claim)
	c = c2
	term := reign(t, c, "a")
	a := commit(t, s, term, fire(given(slot("j", 1), "w"), 0))[0]
	if !errors.Is(a.Err, job.ErrConflict) || a.Run == nil || a.Run.Rev != claimed.Rev || a.Run.State != job.Running {
		t.Errorf("got %+v with run %+v, want a conflict with the run that was claimed at %d", a, a.Run, claimed.Rev)
	}
}

func TestResentSubmissionReturnsTheArmedRun(t *testing.T) {
	for name, submit := range map[string]func(s, reader *Store, r job.Run) (job.Run, error){
		"store": func(s, _ *Store, r job.Run) (job.Run, error) { return s.Submit(t.Context(), r) },
		"intake": func(s, reader *Store, r job.Run) (job.Run, error) {
			m := following(t, reader)
			catchUp(t, reader, m)
			return NewIntake(s, m, 1000).Submit(t.Context(), r, 1000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c *clientv3.Client
			var term election.Term
			arm := func(mem.Op) mem.Verdict { // the leader, between the two sendings
				other := New(Config{Prefix: prefix, Process: "leader"}, c, nullLog)
				defer other.Close()
				run, err := other.Run(context.Background(), "j", slot("j", 1).ID)
				if err != nil {
					t.Error(err)
				}
				if a := commit(t, other, term, job.Decision{Job: "j", Run: given(&run, "w")})[0]; a.Err != nil {
					t.Error(a.Err)
				}
				return mem.Verdict{}
			}
			srv, s, c2 := scripted(t, strike(mem.Verdict{Action: mem.Lose}), arm)
			c = c2
			term = reign(t, c, "a")
			r, err := submit(s, open(t, srv.Client()), *slot("j", 1))
			if !errors.Is(err, job.ErrConflict) || !isUnknown(err) || r.State != job.Armed || r.Rev == 0 {
				t.Errorf("got %s at %d, %v; want a conflict with the armed run, and that it may be its own", r.State, r.Rev, err)
			}
		})
	}
}

func TestDuplicateOrderCannotBeClaimed(t *testing.T) {
	var s *Store
	var c *clientv3.Client
	finish := func(mem.Op) mem.Verdict { // the worker takes the run and closes the order, between the two sendings
		other := New(Config{Prefix: prefix, Process: "w"}, c, nullLog)
		defer other.Close()
		run, err := other.Run(context.Background(), "j", slot("j", 1).ID)
		if err != nil {
			t.Error(err)
		}
		next, _ := run.Claim(run.Rev, epoch)
		_, err1 := other.Write(context.Background(), next)
		resp, err2 := c.Get(context.Background(), other.keys.queue("w"), clientv3.WithPrefix())
		err3 := other.CloseOrder(context.Background(), "w", string(resp.Kvs[0].Key[len(other.keys.queue("w")):]))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err)
		}
		return mem.Verdict{}
	}
	_, s, c = scripted(t, strike(mem.Verdict{Action: mem.Lose}), finish)
	commit(t, s, reign(t, c, "a"), fire(given(slot("j", 1), "w"), 0))
	ctx, cancel := context.WithCancel(t.Context())
	var again []job.Order
	if err := s.Orders(ctx, "w", func(o job.Order) { again = append(again, o); cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next, err := again[0].Runs[0].Claim(again[0].Rev, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if run, err := s.Write(t.Context(), next); !errors.Is(err, job.ErrConflict) || run.State != job.Running {
		t.Errorf("got %v with run %s, want a conflict with the running one", err, run.State)
	}
}
