package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func present(t *testing.T, s *Store) *Presence {
	t.Helper()
	p, err := s.PresentWorker(within(t), job.Worker{Name: "w", Capacity: 1, Started: epoch}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.WithoutCancel(t.Context())) })
	return p
}

func isLost(p *Presence) bool { return p.isLost() }

func TestAPresenceIsLost(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *Store, c *clientv3.Client, p *Presence){
		"when somebody writes another session": func(t *testing.T, s *Store, c *clientv3.Client, _ *Presence) {
			put(t, c, s.keys.record(KindWorkers, "w"), `{"name":"w","session":"1f","capacity":1}`)
		},
		"when somebody writes another session on its lease": func(t *testing.T, s *Store, c *clientv3.Client, _ *Presence) {
			key, value := s.keys.record(KindWorkers, "w"), `{"name":"w","session":"1f","capacity":1}`
			if _, err := c.Put(t.Context(), key, value, clientv3.WithIgnoreLease()); err != nil {
				t.Error(err)
			}
		},
		"when another incarnation is there": func(t *testing.T, s *Store, _ *clientv3.Client, p *Presence) {
			other := present(t, s)
			if w, err := s.Worker(t.Context(), "w"); err != nil || w.Session != other.ID() || other.ID() == p.ID() {
				t.Errorf("got %+v (%v), want session %s", w, err, other.ID())
			}
			t.Cleanup(func() {
				if isLost(other) {
					t.Error("the later one is lost as well")
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, c *clientv3.Client) {
				s := open(t, c)
				p := present(t, s)
				if isLost(p) {
					t.Fatal("lost at once")
				}
				end(t, s, c, p)
				eventually(t, "lost", func() bool { return isLost(p) })
				if want := name == "when another incarnation is there"; p.Taken() != want {
					t.Errorf("taken: got %t, want %t", p.Taken(), want)
				}
			})
		})
	}
}

func TestOverwrittenPresenceIsRepaired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		key, longer := s.keys.record(KindWorkers, "w"), `{"name":"w-longer","session":"1f","capacity":1}`
		put(t, c, key+"-longer", longer) // another worker
		p := present(t, s)
		ours := value(t, c, key)
		put(t, c, key+"-longer", longer)
		for _, v := range []string{"garbage", "", "{}", "null", ours, strings.Replace(ours, `"capacity":1`, `"capacity":9`, 1)} {
			rev := put(t, c, key, v)
			eventually(t, "put right", func() bool {
				resp, err := c.Get(t.Context(), key)
				return err == nil && len(resp.Kvs) == 1 && resp.Kvs[0].ModRevision > rev && resp.Kvs[0].Lease == int64(p.lease.ID())
			})
			if got := value(t, c, key); got != ours {
				t.Errorf("after %q: got %s, want %s", v, got, ours)
			}
		}
		for _, v := range []string{"garbage", strings.Replace(ours, `"capacity":1`, `"capacity":9`, 1)} { // records on our own lease, written by hand
			if _, err := c.Put(t.Context(), key, v, clientv3.WithIgnoreLease()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "put right", func() bool { return value(t, c, key) == ours })
		}
		eventually(t, "updated", func() bool {
			return p.Update(t.Context(), job.Worker{Name: "w", Session: p.ID(), Capacity: 2}) == nil
		})
		if w, err := s.Worker(t.Context(), "w"); err != nil || w.Capacity != 2 {
			t.Errorf("got %+v (%v), want capacity 2", w, err)
		}
		if isLost(p) {
			t.Error("lost")
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := value(t, c, key); got != "" || isLost(p) {
			t.Errorf("after Close: got %q, lost %v, want nothing and not lost", got, isLost(p))
		}
	})
}

func TestAnUnansweredUpdateOfAPresenceIsRecognised(t *testing.T) {
	_, s, _ := scripted(t, nil, strike(mem.Verdict{Action: mem.Lose}))
	p := present(t, s)
	for n := range 3 {
		if err := p.Update(t.Context(), job.Worker{Name: "w", Session: p.ID(), Capacity: n + 2}); err != nil {
			t.Errorf("update %d: %v", n, err)
		}
	}
}

func TestPresenceKnownFromTheWatchCanBeUpdated(t *testing.T) {
	_, s, _ := scripted(t, nil, strike(mem.Verdict{Action: mem.Lose, Hang: true}))
	p := present(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Update(ctx, job.Worker{Name: "w", Session: p.ID(), Capacity: 2}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
	}
	eventually(t, "updated again", func() bool {
		return p.Update(t.Context(), job.Worker{Name: "w", Session: p.ID(), Capacity: 3}) == nil
	})
}

// TestALatePresenceReplacesNoLaterOne delays the write of a presence. If it replaced a later presence, the later session and its
// attempts would be lost.
func TestALatePresenceReplacesNoLaterOne(t *testing.T) {
	var cutOff atomic.Bool
	cutOff.Store(true)
	var own atomic.Pointer[clientv3.Client]
	srv := fake(t, mem.FaultFunc(func(op mem.Op) (v mem.Verdict) {
		if !cutOff.Load() || op.Client != own.Load() {
			return v
		}
		r, txn := op.Request.(*pb.TxnRequest)
		switch {
		case op.Kind == mem.Revoke:
			v.Action = mem.Refuse
		case txn && r.Success[0].GetRequestRange() == nil:
			v = mem.Verdict{Action: mem.Late, Hang: true}
		}
		return v
	}))
	own.Store(srv.Client())
	s, c := open(t, own.Load()), srv.Client()
	ctx, cancel := context.WithTimeout(t.Context(), shortTry/2)
	defer cancel()
	if _, err := s.PresentWorker(ctx, job.Worker{Name: "w", Capacity: 1, Started: epoch}, time.Minute); !isUnknown(err) {
		t.Fatalf("got %v, want an unknown outcome", err)
	}
	cutOff.Store(false)
	p := present(t, s)
	if n := srv.Release(); n != 1 {
		t.Fatalf("%d writes come late, want one", n)
	}
	if w, err := s.Worker(t.Context(), "w"); err != nil || w.Session != p.ID() {
		t.Errorf("got session %s (%v), want the later one, %s", w.Session, err, p.ID())
	}
	put(t, c, s.keys.record(KindWorkers, "w"), "garbage") // the presence repairs it, which proves that its watch works
	eventually(t, "put right", func() bool {
		w, err := s.Worker(t.Context(), "w")
		return err == nil && w.Session == p.ID()
	})
	if isLost(p) {
		t.Error("lost")
	}
}

func TestPresenceThatCannotBeRepairedIsLost(t *testing.T) {
	_, s, c := scripted(t, nil, strike(mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCNoSpace}))
	p := present(t, s)
	put(t, c, s.keys.record(KindWorkers, "w"), "garbage")
	eventually(t, "lost", func() bool { return isLost(p) })
}

func TestEndWorkerKeepsTheTerm(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		p := present(t, s)
		put(t, c, s.keys.record(KindWorkers, "w"), "garbage") // the presence repairs it, which proves that its watch works
		eventually(t, "repaired", func() bool { _, err := s.Worker(t.Context(), "w"); return err == nil })
		w, err := s.Worker(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		ending, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.EndWorker(ending, term, &w); err != nil {
			t.Fatal(err)
		}
		cancel()
		eventually(t, "lost", func() bool { return isLost(p) })
		if p.Taken() {
			t.Error("taken, though no other process has the name")
		}
		if got := value(t, c, s.keys.record(KindWorkers, "w")); got != "" {
			t.Errorf("after EndWorker: got %q, want no record", got)
		}
		if a := commit(t, s, term, fire(slot("j", 1), 0))[0]; a.Err != nil {
			t.Errorf("the first decision of the term: %v", a.Err)
		}
		if err := s.EndWorker(t.Context(), term, &w); !errors.Is(err, job.ErrConflict) && err != nil {
			t.Errorf("again: %v", err)
		}
		remove(t, c, term.Key)
		if err := s.EndWorker(t.Context(), term, &w); !errors.Is(err, election.ErrTermLost) {
			t.Errorf("after the term: got %v, want %v", err, election.ErrTermLost)
		}
	})
}
