package mem

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f in a synctest bubble with a server of its own.
func bubble(t *testing.T, cfg Config, f func(t *testing.T, s *Server, c *clientv3.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(cfg)
		defer s.Close()
		f(t, s, s.Client())
	})
}

func put(t *testing.T, c *clientv3.Client, key, value string, opts ...clientv3.OpOption) {
	t.Helper()
	if _, err := c.Put(t.Context(), key, value, opts...); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// value reads a key; "" if it is absent.
func value(t *testing.T, c *clientv3.Client, key string) string {
	t.Helper()
	r, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if len(r.Kvs) == 0 {
		return ""
	}
	return string(r.Kvs[0].Value)
}

func grant(t *testing.T, c *clientv3.Client, ttl int64) clientv3.LeaseID {
	t.Helper()
	r, err := c.Grant(t.Context(), ttl)
	if err != nil {
		t.Fatalf("grant: %v", err)
	}
	return r.ID
}

func TestLeaseExpiresInFakeTime(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		began := time.Now()
		w := c.Watch(t.Context(), "k")
		put(t, c, "k", "v", clientv3.WithLease(grant(t, c, 60)))
		<-w
		r := <-w
		if got := time.Since(began); got != time.Minute {
			t.Errorf("expired after %s, want 1m", got)
		}
		if len(r.Events) != 1 || r.Events[0].Type != clientv3.EventTypeDelete {
			t.Errorf("got %v, want one deletion", r.Events)
		}
	})
}

func TestExpiryIsOnTheGrid(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, c *clientv3.Client) {
		began := time.Now()
		time.Sleep(300 * time.Millisecond)
		w := c.Watch(t.Context(), "k")
		put(t, c, "k", "v", clientv3.WithLease(grant(t, c, 5)))
		<-w
		<-w
		if got, want := time.Since(began), 5500*time.Millisecond; got != want {
			t.Errorf("revoked at %s, want %s", got, want)
		}
	})
}

func TestSessionOfALostReplicaExpires(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, s *Server, a *clientv3.Client) {
		b := s.Client()
		campaign := func(c *clientv3.Client) (*concurrency.Session, *concurrency.Election) {
			session, err := concurrency.NewSession(c, concurrency.WithTTL(5))
			if err != nil {
				t.Fatal(err)
			}
			e := concurrency.NewElection(session, "/e")
			if err := e.Campaign(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
			return session, e
		}
		session, _ := campaign(a)
		time.Sleep(time.Hour) // the client renews the lease meanwhile
		cut := time.Now()
		s.Cut(a)
		done := make(chan time.Duration, 1)
		go func() {
			<-session.Done()
			done <- time.Since(cut)
		}()
		campaign(b)
		if got := time.Since(cut); got < 3*time.Second || got > 6*time.Second {
			t.Errorf("the next led after %s, want 3 to 6 s", got)
		}
		if got := <-done; got > 7*time.Second {
			t.Errorf("the session ended after %s, want at most 7 s", got)
		}
	})
}

func TestProgressComesToAnIdleWatch(t *testing.T) {
	bubble(t, Config{ProgressInterval: time.Minute}, func(t *testing.T, s *Server, c *clientv3.Client) {
		began := time.Now()
		w := c.Watch(t.Context(), "k", clientv3.WithProgressNotify())
		put(t, c, "k", "v")
		<-w
		r := <-w
		if got := time.Since(began); !r.IsProgressNotify() || got != 2*time.Minute {
			t.Errorf("got %+v after %s, want progress after 2m: one interval was busy", r, got)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Faults: FaultFunc(func(op Op) Verdict {
			if op.Kind == Put {
				return Verdict{Action: Late, Hang: true, Wait: time.Hour}
			}
			return Verdict{}
		})})
		c := s.Client()
		w := c.Watch(t.Context(), "k")
		hung := make(chan error, 1)
		go func() {
			_, err := c.Put(t.Context(), "k", "v")
			hung <- err
		}()
		alive, err := c.KeepAlive(t.Context(), grant(t, c, 60))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-hung; !clientv3.IsConnCanceled(err) {
			t.Errorf("hanging call: got %v, want a closed connection", err)
		}
		for range w {
		}
		for range alive {
		}
		if _, err := c.Get(t.Context(), "k"); !clientv3.IsConnCanceled(err) {
			t.Errorf("call after close: got %v, want a closed connection", err)
		}
		if _, err := s.Client().Get(t.Context(), "k"); !errors.Is(err, rpctypes.ErrStopped) {
			t.Errorf("call of a new client: got %v, want %v", err, rpctypes.ErrStopped)
		}
	})
}

func TestIndexKeepsOrder(t *testing.T) {
	const n = 5000
	var x index
	for i := range n {
		x.insert(&record{key: fmt.Sprintf("%05d", i*7919%n)})
	}
	for i := range n {
		if i%3 == 0 {
			x.remove(fmt.Sprintf("%05d", i))
		}
	}
	want := 0
	for r := range x.within(span{key: "", open: true}) {
		if want%3 == 0 {
			want++
		}
		if r.key != fmt.Sprintf("%05d", want) {
			t.Fatalf("got %s, want %05d", r.key, want)
		}
		want++
	}
	if want != n {
		t.Errorf("ended before %05d, want %05d", want, n)
	}
	if x.get("00003") != nil || x.get("00004") == nil {
		t.Error("get: want 00004 there and 00003 not")
	}
}

// BenchmarkGuardedTxn measures a guarded write like those of rota. The store
// has 100,000 keys and is compacted at intervals.
func BenchmarkGuardedTxn(b *testing.B) {
	s := New(Config{})
	defer s.Close()
	c := s.Client()
	ctx := context.Background()
	for i := range 100_000 {
		if _, err := c.Put(ctx, fmt.Sprintf("/runs/%d/%d", i%100, i), "{}"); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		key := fmt.Sprintf("/runs/%d/%d", i%100, i%200_000)
		r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision("/none"), "=", 0)).
			Then(clientv3.OpPut(key, "{}"), clientv3.OpPut("/cursor", key)).Commit()
		if err != nil {
			b.Fatal(err)
		}
		if i%10_000 == 0 {
			if _, err := c.Compact(ctx, r.Header.Revision); err != nil {
				b.Fatal(err)
			}
		}
	}
}
