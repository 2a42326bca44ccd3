package storetest

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var leaseClaims = []claim{
	{"a grant is at least 2 s and no revision", func(s *store) {
		before := s.rev()
		r := must(s.Grant(s.ctx, 1))(s)
		s.want("ttl", r.TTL, 2)
		s.want("revision", []int64{r.Revision, s.rev()}, []int64{before, before})
		_, err := s.Grant(s.ctx, 9_000_000_001)
		s.wantErr("285 years", err, rpctypes.ErrLeaseTTLTooLarge)
	}},
	{"its keys end with it, in one revision", func(s *store) {
		id := s.grant(60)
		for _, k := range []string{"b", "a", "c"} {
			s.put(k, "1", clientv3.WithLease(id))
		}
		s.put("c", "2") // the lease does not own the key any more
		before := s.rev()
		ttl := must(s.TimeToLive(s.ctx, id, clientv3.WithAttachedKeys()))(s)
		s.want("ttl and keys", []any{ttl.TTL > 50, ttl.GrantedTTL, len(ttl.Keys)}, []any{true, 60, 2})
		w := s.Watch(s.ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(before+1))
		r := must(s.Revoke(s.ctx, id))(s)
		s.want("revision", r.Header.Revision, before+1)
		s.want("events", s.events(s.next(w)), "-a -b")
		s.want("left", s.kvs(s.get("", clientv3.WithPrefix())), "c=2")
		_, err := s.Revoke(s.ctx, id)
		s.wantErr("revoke again", err, rpctypes.ErrLeaseNotFound)
		s.want("ttl after", must(s.TimeToLive(s.ctx, id))(s).TTL, -1)
	}},
	{"a key that was deleted is no longer its own", func(s *store) {
		id := s.grant(60)
		s.put("k", "1", clientv3.WithLease(id))
		s.del("k")
		s.put("k", "2")
		must(s.Revoke(s.ctx, id))(s)
		s.want("left", s.kvs(s.get("k")), "k=2")
	}},
	{"revoked without keys it is no revision", func(s *store) {
		id, before := s.grant(60), s.rev()
		s.want("revision", must(s.Revoke(s.ctx, id))(s).Header.Revision, before)
	}},
	{"leases can be listed", func(s *store) {
		id := s.grant(60)
		holds := func() bool {
			return slices.Contains(must(s.Leases(s.ctx))(s).Leases, clientv3.LeaseStatus{ID: id})
		}
		s.want("listed", holds(), true)
		must(s.Revoke(s.ctx, id))(s)
		s.want("listed after", holds(), false)
	}},
	{"it is renewed once", func(s *store) {
		id := s.grant(60)
		r := must(s.KeepAliveOnce(s.ctx, id))(s)
		s.want("ttl and id", []any{r.TTL, r.ID == id}, []any{60, true})
		must(s.Revoke(s.ctx, id))(s)
		_, err := s.KeepAliveOnce(s.ctx, id)
		s.wantErr("after its end", err, rpctypes.ErrLeaseNotFound)
	}},
	{"it lives while renewed and its end closes the channel", func(s *store) {
		id := s.grant(60)
		alive := must(s.KeepAlive(s.ctx, id))(s)
		if r := <-alive; r == nil || r.TTL != 60 {
			s.Errorf("first renewal: got %v, want a ttl of 60", r)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		second := must(s.KeepAlive(ctx, id))(s)
		cancel()
		for range second { // its own context closes it
		}
		must(s.Revoke(s.ctx, id))(s)
	}},
	{"it expires by itself", func(s *store) {
		w := s.Watch(s.ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithFilterPut())
		id := s.grant(2)
		began := time.Now()
		s.put("a", "", clientv3.WithLease(id))
		before := s.put("b", "", clientv3.WithLease(id)).Header.Revision
		r := s.next(w)
		s.want("events", s.events(r), "-a -b")
		s.want("revision", r.Header.Revision, before+1)
		if d := time.Since(began); d < 1900*time.Millisecond {
			s.Errorf("it lived for %s, want 2 s", d)
		}
		_, err := s.KeepAliveOnce(s.ctx, id)
		s.wantErr("renewal", err, rpctypes.ErrLeaseNotFound)
		_, err = s.Put(s.ctx, s.key("a"), "", clientv3.WithLease(id))
		s.wantErr("put", err, rpctypes.ErrLeaseNotFound)
	}},
}
