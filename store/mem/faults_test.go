package mem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// onPut gives each put of the key "k" the same verdict.
func onPut(v Verdict) Config {
	return Config{Faults: FaultFunc(func(op Op) Verdict {
		if op.Kind == Put {
			if r, ok := op.Request.(interface{ GetKey() []byte }); ok && string(r.GetKey()) == "k" {
				return v
			}
		}
		return Verdict{}
	})}
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		verdict Verdict
		err     error
		took    time.Duration
		now     string // the value right after the call
		later   string // the value after two more operations and an hour
	}{
		{"proceed", Verdict{}, nil, 0, "v", "v"},
		{"delay", Verdict{Delay: time.Second}, nil, time.Second, "v", "v"},
		{"delay beyond the deadline", Verdict{Delay: time.Minute}, context.DeadlineExceeded, 3 * time.Second, "", ""},
		{"refuse", Verdict{Action: Refuse}, rpctypes.ErrTimeout, 0, "", ""},
		{"refuse with an error", Verdict{Action: Refuse, Err: rpctypes.ErrGRPCNoLeader}, rpctypes.ErrNoLeader, 0, "", ""},
		{"lose", Verdict{Action: Lose}, rpctypes.ErrTimeout, 0, "v", "v"},
		{"lose without an answer", Verdict{Action: Lose, Hang: true}, context.DeadlineExceeded, 3 * time.Second, "v", "v"},
		{"late by operations", Verdict{Action: Late, Ops: 2}, rpctypes.ErrTimeout, 0, "", "v"},
		{"late by time", Verdict{Action: Late, Wait: time.Minute}, rpctypes.ErrTimeout, 0, "", "v"},
		{"late until released", Verdict{Action: Late}, rpctypes.ErrTimeout, 0, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, onPut(tc.verdict), func(t *testing.T, s *Server, c *clientv3.Client) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				_, err := c.Put(ctx, "k", "v")
				if !errors.Is(err, tc.err) {
					t.Errorf("got error %v, want %v", err, tc.err)
				}
				if got := time.Since(began); got != tc.took {
					t.Errorf("it took %s, want %s", got, tc.took)
				}
				if got := value(t, c, "k"); got != tc.now {
					t.Errorf("at once: got %q, want %q", got, tc.now)
				}
				put(t, c, "x", "")
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := value(t, c, "k"); got != tc.later {
					t.Errorf("later: got %q, want %q", got, tc.later)
				}
				s.Release()
				if tc.verdict.Action == Late {
					if got := value(t, c, "k"); got != "v" {
						t.Errorf("released: got %q, want %q", got, "v")
					}
				}
			})
		})
	}
}

func TestALateGuardedWriteFailsItsGuard(t *testing.T) {
	late := true
	cfg := Config{Faults: FaultFunc(func(op Op) Verdict {
		if op.Kind == Txn && late {
			late = false
			return Verdict{Action: Late}
		}
		return Verdict{}
	})}
	bubble(t, cfg, func(t *testing.T, s *Server, c *clientv3.Client) {
		create := func(v string) error {
			_, err := c.Txn(t.Context()).If(clientv3.Compare(clientv3.CreateRevision("k"), "=", 0)).Then(clientv3.OpPut("k", v)).Commit()
			return err
		}
		if err := create("old"); err == nil {
			t.Error("the late transaction was answered")
		}
		if err := create("new"); err != nil {
			t.Error(err)
		}
		if n := s.Release(); n != 1 {
			t.Errorf("released %d operations, want 1", n)
		}
		if got := value(t, c, "k"); got != "new" {
			t.Errorf("got %q, want %q", got, "new")
		}
	})
}

func TestRefusedRenewalsLetTimePass(t *testing.T) {
	cfg := Config{Faults: FaultFunc(func(op Op) Verdict {
		if op.Kind == KeepAlive {
			return Verdict{Action: Refuse}
		}
		return Verdict{}
	})}
	bubble(t, cfg, func(t *testing.T, s *Server, c *clientv3.Client) {
		id := grant(t, c, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.KeepAliveOnce(ctx, id); !errors.Is(err, rpctypes.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a timeout", err)
		}
		alive, err := c.KeepAlive(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for range alive {
			t.Error("a refused renewal was answered")
		}
	})
}

func TestCutClient(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, a *clientv3.Client) {
		b := s.Client()
		w := a.Watch(t.Context(), "k")
		s.Cut(a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut off: got %v, want the deadline", err)
		}
		put(t, b, "k", "1")
		put(t, b, "k", "2")
		waiting := make(chan error, 1)
		go func() {
			_, err := a.Put(t.Context(), "k", "3")
			waiting <- err
		}()
		synctest.Wait()
		select {
		case r := <-w:
			t.Errorf("cut off, the watch got %v", r)
		case err := <-waiting:
			t.Errorf("cut off, the call returned %v", err)
		default:
		}
		s.Heal(a)
		if err := <-waiting; err != nil {
			t.Errorf("healed: %v", err)
		}
		if r := <-w; len(r.Events) != 2 {
			t.Errorf("healed: got %v, want the two events that were missed, together", r.Events)
		}
		if r := <-w; len(r.Events) != 1 || string(r.Events[0].Kv.Value) != "3" {
			t.Errorf("healed: got %v, want the third event", r.Events)
		}
	})
}

func TestStalledWatch(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		w := c.Watch(t.Context(), "k")
		s.StallWatches(c)
		put(t, c, "k", "1")
		put(t, c, "k", "2")
		s.ResumeWatches(c)
		if r := <-w; len(r.Events) != 2 || r.Header.Revision != s.Rev() {
			t.Errorf("got %v at %d, want two events at %d", r.Events, r.Header.Revision, s.Rev())
		}

		s.StallWatches(c)
		put(t, c, "k", "3")
		put(t, c, "k", "4")
		if _, err := c.Compact(t.Context(), s.Rev()); err != nil {
			t.Fatal(err)
		}
		s.ResumeWatches(c)
		if r := <-w; r.CompactRevision != s.Rev() || !errors.Is(r.Err(), rpctypes.ErrCompacted) {
			t.Errorf("got %+v, want its end by compaction at %d", r, s.Rev())
		}
		if _, open := <-w; open {
			t.Error("the channel is open after the end")
		}
	})
}

func TestCompactWatches(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		w := c.Watch(t.Context(), "k")
		put(t, c, "k", "1")
		s.CompactWatches(c)
		if r := <-w; len(r.Events) != 1 {
			t.Errorf("got %+v, want the event before the end", r)
		}
		if r := <-w; !errors.Is(r.Err(), rpctypes.ErrCompacted) {
			t.Errorf("got %+v, want the end by compaction", r)
		}
		if r, err := c.Get(t.Context(), "k", clientv3.WithRev(1)); err != nil {
			t.Errorf("got %v, %v, want the past unharmed", r, err)
		}
	})
}

func TestRefusedWatch(t *testing.T) {
	cfg := Config{Faults: FaultFunc(func(op Op) Verdict {
		if op.Kind == Watch {
			return Verdict{Action: Refuse, Err: rpctypes.ErrGRPCNoLeader}
		}
		return Verdict{}
	})}
	bubble(t, cfg, func(t *testing.T, s *Server, c *clientv3.Client) {
		w := c.Watch(t.Context(), "k")
		if r := <-w; !errors.Is(r.Err(), rpctypes.ErrNoLeader) {
			t.Errorf("got %v, want %v", r.Err(), rpctypes.ErrNoLeader)
		}
		if _, open := <-w; open {
			t.Error("the channel is open after the end")
		}
	})
}

func TestLeasesEndEarlyAndLate(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		early, late := grant(t, c, 10), grant(t, c, 10)
		put(t, c, "early", "v", clientv3.WithLease(early))
		put(t, c, "late", "v", clientv3.WithLease(late))
		if err := s.ExpireLease(early); err != nil {
			t.Fatal(err)
		}
		if err := s.ExpireLease(early); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("expired twice: got %v, want %v", err, rpctypes.ErrLeaseNotFound)
		}
		if got := value(t, c, "early"); got != "" {
			t.Errorf("early: got %q, want it gone", got)
		}
		time.Sleep(9 * time.Second)
		s.ExtendLeases(time.Second)
		time.Sleep(10 * time.Second)
		if got := value(t, c, "late"); got != "v" {
			t.Errorf("late: got %q after 19 s, want it there", got)
		}
		time.Sleep(2 * time.Second)
		if got := value(t, c, "late"); got != "" {
			t.Errorf("late: got %q after 21 s, want it gone", got)
		}
	})
}

func TestNoSpace(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		ctx := t.Context()
		put(t, c, "k", "v")
		id := grant(t, c, 60)
		s.SetNoSpace(true)
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Errorf("%s: got %v, want %v", what, err, rpctypes.ErrNoSpace)
			}
		}
		_, err := c.Put(ctx, "k", "w")
		refused("put", err)
		_, err = c.Txn(ctx).Then(clientv3.OpGet("k")).Else(clientv3.OpPut("k", "w")).Commit()
		refused("put in the branch not taken", err)
		_, err = c.Txn(ctx).Then(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("k", "w")}, nil)).Commit()
		refused("nested put", err)
		_, err = c.Grant(ctx, 60)
		refused("grant", err)
		if _, err := c.KeepAliveOnce(ctx, id); err != nil {
			t.Errorf("renewal: %v", err)
		}
		if _, err := c.Txn(ctx).Then(clientv3.OpDelete("k")).Commit(); err != nil {
			t.Errorf("deletion: %v", err)
		}
		status, err := c.Status(ctx, "")
		if err != nil || len(status.Errors) != 1 {
			t.Errorf("status: got %v, %v, want one alarm", status, err)
		}
		if _, err := c.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
			t.Fatal(err)
		}
		alarms, err := c.AlarmList(ctx)
		if err != nil || len(alarms.Alarms) != 0 {
			t.Errorf("alarms: got %v, %v, want none", alarms, err)
		}
		put(t, c, "k", "w")
	})
}
