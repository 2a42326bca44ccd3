package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func sessionOf(name string, life time.Duration) auth.Session {
	return auth.NewSession(auth.Caller{Identity: auth.Identity{Principal: name, Method: auth.ByCertificate}}, time.Now(), life)
}

func TestASessionLivesUntilItsEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, ctx := open(t, c), within(t)
		if _, err := s.Session(ctx, "x"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("an unknown session: got %v, want %v", err, job.ErrNotFound)
		}
		if err := s.PutSession(ctx, "x", sessionOf("alice", time.Hour)); err != nil {
			t.Fatal(err)
		}
		got, err := s.Session(ctx, "x")
		if err != nil || got.Principal != "alice" || got.lease == 0 {
			t.Fatalf("got %+v, %v, want a session of alice on a lease", got, err)
		}
		if ttl, err := c.TimeToLive(ctx, got.lease); err != nil || ttl.TTL < 3500 || ttl.TTL > 3600 {
			t.Errorf("the lease lives for %+v, %v, want an hour", ttl, err)
		}
		put(t, c, s.keys.record(KindSessions, "bad"), "garbage")
		if _, err := s.Session(ctx, "bad"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("an unreadable session: got %v, want %v", err, job.ErrNotFound)
		}
		used := got.Used.Add(10 * time.Minute)
		if err := s.TouchSession(ctx, "x", got, used); err != nil {
			t.Fatal(err)
		}
		if err := s.TouchSession(ctx, "x", got, used.Add(time.Hour)); err != nil { // with the old revision
			t.Fatal(err)
		}
		touched, err := s.Session(ctx, "x")
		if err != nil || !touched.Used.Equal(used) || touched.lease != got.lease {
			t.Errorf("got %+v, %v, want it used at %v, on the same lease", touched, err, used)
		}
		if err := errors.Join(s.DeleteSession(ctx, "x"), s.DeleteSession(ctx, "x")); err != nil {
			t.Fatal(err)
		}
		if err := s.TouchSession(ctx, "x", touched, used.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		late := clientv3.OpPut(s.keys.record(KindSessions, "x"), "{}", clientv3.WithLease(got.lease))
		if _, err := c.Do(ctx, late); !isCode(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("a late sending of an ended session: got %v, want %v", err, rpctypes.ErrLeaseNotFound)
		}
		if _, err := s.Session(ctx, "x"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("an ended session: got %v, want %v", err, job.ErrNotFound)
		}
	})
}

func TestOneOfManyClientsCanUseACode(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		ctx, s := within(t), open(t, c)
		if err := s.PutCode(ctx, "code", sessionOf("alice", time.Minute)); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var signedIn atomic.Int64
		for _, id := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
			other := open(t, c)
			wg.Go(func() {
				err := other.RedeemCode(ctx, "code", id, func(v auth.Session) auth.Session { return v.Begin(time.Now()) })
				switch {
				case err == nil:
					signedIn.Add(1)
				case !errors.Is(err, job.ErrNotFound):
					t.Errorf("%s: got %v, want %v", id, err, job.ErrNotFound)
				}
			})
		}
		wg.Wait()
		kvs, _, err := s.list(ctx, s.keys.family(KindSessions))
		if signedIn.Load() != 1 || len(kvs) != 1 || err != nil {
			t.Errorf("%d clients signed in, with %d sessions, %v; want one", signedIn.Load(), len(kvs), err)
		}
	})
}
