package store

import (
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/store/mem"
)

// TestARemovedPresenceIsPutBack removes the record of a living worker. Its session must go on.
func TestARemovedPresenceIsPutBack(t *testing.T) {
	for name, end := range map[string]func(c *clientv3.Client, key string, lease clientv3.LeaseID) error{
		"its lease is revoked": func(c *clientv3.Client, _ string, lease clientv3.LeaseID) error {
			_, err := c.Revoke(c.Ctx(), lease)
			return err
		},
		"its record is deleted": func(c *clientv3.Client, key string, _ clientv3.LeaseID) error {
			_, err := c.Delete(c.Ctx(), key)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(t *testing.T, c *clientv3.Client) {
				s := open(t, c)
				p := present(t, s)
				key, session := s.keys.record(KindWorkers, "w"), p.ID()
				for range 3 {
					removed := revisionOf(t, c, key)
					if err := end(c, key, p.lease.ID()); err != nil {
						t.Fatal(err)
					}
					eventually(t, "back", func() bool {
						resp, err := c.Get(t.Context(), key)
						return err == nil && len(resp.Kvs) == 1 && resp.Kvs[0].CreateRevision > removed &&
							resp.Kvs[0].Lease == int64(p.lease.ID())
					})
				}
				if isLost(p) || p.ID() != session {
					t.Errorf("lost %t, session %s, want session %s to go on", isLost(p), p.ID(), session)
				}
				eventually(t, "renewed", func() bool { // the new lease is renewed, too
					before := p.Deadline()
					eventually(t, "later", func() bool { return p.Deadline().After(before) })
					return true
				})
				eventually(t, "updated", func() bool {
					return p.Update(t.Context(), job.Worker{Name: "w", Session: p.ID(), Capacity: 2}) == nil
				})
				if err := p.Close(t.Context()); err != nil || value(t, c, key) != "" {
					t.Errorf("close: %v, and the record is %q, want none", err, value(t, c, key))
				}
			})
		})
	}
}

// TestAPresenceThatIsThereIsPutBackWithoutAChange reports a removal several times, as the watch and a renewal do.
func TestAPresenceThatIsThereIsPutBackWithoutAChange(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	p := present(t, s)
	rev := revisionOf(t, c, s.keys.record(KindWorkers, "w"))
	for range 3 { // if the presence counted as lost, the next report would not be answered
		p.lease.Gone()
		select {
		case <-p.Back():
		case <-within(t).Done():
			t.Fatal("not put back")
		}
	}
	if got := revisionOf(t, c, s.keys.record(KindWorkers, "w")); got != rev || isLost(p) {
		t.Errorf("revision %d, lost %t, want revision %d and not lost", got, isLost(p), rev)
	}
}

// TestAPresenceInARestoredStoreIsNotPutBack checks that a process ends whose store went back.
func TestAPresenceInARestoredStoreIsNotPutBack(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	p := present(t, s)
	s.count.reached.fell(1)
	if _, err := c.Revoke(t.Context(), p.lease.ID()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "lost", func() bool { return isLost(p) })
	if got := value(t, c, s.keys.record(KindWorkers, "w")); got != "" {
		t.Errorf("the record is %q, want none", got)
	}
}

// revisionOf returns the revision of the record at key, which exists.
func revisionOf(t *testing.T, c *clientv3.Client, key string) int64 {
	t.Helper()
	resp, err := c.Get(t.Context(), key)
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("read %s: %d records, %v", key, len(resp.Kvs), err)
	}
	return resp.Kvs[0].ModRevision
}

// TestAttemptsEndBeforeTheyAreRepeated adds up how long the attempts of a worker whose presence was removed can go on.
func TestAttemptsEndBeforeTheyAreRepeated(t *testing.T) {
	if most := restoreWithin + executor.HurryGrace; most >= planner.DefaultRestoreGrace {
		t.Errorf("attempts may go on for %v, and the leader repeats them after %v", most, planner.DefaultRestoreGrace)
	}
}

// TestAPresenceThatCannotBePutBackIsLost refuses the lease, and then the record.
func TestAPresenceThatCannotBePutBackIsLost(t *testing.T) {
	for name, refused := range map[string]mem.Kind{"no lease": mem.Grant, "no record": mem.Txn} {
		t.Run(name, func(t *testing.T) {
			var full atomic.Bool
			c := fake(t, mem.FaultFunc(func(op mem.Op) (v mem.Verdict) {
				if full.Load() && op.Kind == refused {
					v = mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCNoSpace}
				}
				return v
			})).Client()
			p := present(t, open(t, c))
			full.Store(true)
			if _, err := c.Revoke(t.Context(), p.lease.ID()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "lost", func() bool { return isLost(p) })
		})
	}
}

// TestARemovedPresenceLeavesALaterOneAlone lets another process take the name before the worker learns that its record is gone.
func TestARemovedPresenceLeavesALaterOneAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		p := present(t, s)
		key := s.keys.record(KindWorkers, "w")
		remove(t, c, key)
		other := present(t, s)
		eventually(t, "lost", func() bool { return isLost(p) })
		if w, err := s.Worker(t.Context(), "w"); err != nil || w.Session != other.ID() || isLost(other) {
			t.Errorf("present: session %s (%v), want %s, which is the later one", w.Session, err, other.ID())
		}
	})
}
