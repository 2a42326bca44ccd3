package storetest

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func (s *store) session(ttl int) *concurrency.Session {
	s.Helper()
	return must(concurrency.NewSession(s.Client, concurrency.WithTTL(ttl), concurrency.WithContext(s.ctx)))(s)
}

var electionClaims = []claim{
	{"one leads, the next follows when it resigns", func(s *store) {
		a, b := s.session(60), s.session(60)
		first, second := concurrency.NewElection(a, s.key("e")), concurrency.NewElection(b, s.key("e"))
		if err := first.Campaign(s.ctx, "a"); err != nil {
			s.Fatal(err)
		}
		observed := first.Observe(s.ctx)
		s.want("observed", string((<-observed).Kvs[0].Value), "a")

		won := make(chan error, 1)
		go func() { won <- second.Campaign(s.ctx, "b") }()
		select {
		case <-won:
			s.Fatal("two lead")
		case <-time.After(50 * time.Millisecond):
		}
		if err := first.Resign(s.ctx); err != nil {
			s.Fatal(err)
		}
		if err := <-won; err != nil {
			s.Fatal(err)
		}
		s.want("observed next", string((<-observed).Kvs[0].Value), "b")
		if second.Rev() <= first.Rev() {
			s.Errorf("term: got %d after %d, want more", second.Rev(), first.Rev())
		}
		held := clientv3.Compare(clientv3.CreateRevision(second.Key()), "=", second.Rev())
		s.want("the term guards", s.txn([]clientv3.Cmp{held}, nil, nil).Succeeded, true)
		must(0, b.Close())(s)
		s.want("the term is over", s.txn([]clientv3.Cmp{held}, nil, nil).Succeeded, false)
	}},
	{"a session whose lease is revoked is not renewed", func(s *store) {
		a := s.session(60)
		must(s.Revoke(s.ctx, a.Lease()))(s)
		_, err := s.KeepAliveOnce(s.ctx, a.Lease())
		s.wantErr("renewal", err, rpctypes.ErrLeaseNotFound)
	}},
	{"a session outlives its time to live", func(s *store) {
		a := s.session(2)
		select {
		case <-a.Done():
			s.Error("the session ended though it is renewed")
		case <-time.After(3 * time.Second):
		}
		must(0, a.Close())(s)
	}},
	{"a mutex excludes", func(s *store) {
		a, b := s.session(60), s.session(60)
		m, n := concurrency.NewMutex(a, s.key("m")), concurrency.NewMutex(b, s.key("m"))
		must(0, m.Lock(s.ctx))(s)
		s.wantErr("try", n.TryLock(s.ctx), concurrency.ErrLocked)
		ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
		defer cancel()
		if err := n.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("lock: got %v, want the deadline", err)
		}
		must(0, m.Unlock(s.ctx))(s)
		must(0, n.Lock(s.ctx))(s)
	}},
}
