package storetest

import (
	"context"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var watchClaims = []claim{
	{"it tells every change, one revision a response", func(s *store) {
		w := s.Watch(s.ctx, s.prefix, clientv3.WithPrefix())
		s.put("a", "1")
		s.txn(nil, []clientv3.Op{clientv3.OpPut(s.key("c"), "2"), clientv3.OpPut(s.key("b"), "2"), clientv3.OpDelete(s.key("a"))}, nil)
		last := s.put("a", "3").Header.Revision
		for i, want := range []string{"+a=1", "+c=2 +b=2 -a", "+a=3"} {
			r := s.next(w)
			s.want("events", s.events(r), want)
			s.want("revision", r.Header.Revision, last-2+int64(i))
		}
	}},
	{"it tells what changes replaced", func(s *store) {
		w := s.Watch(s.ctx, s.key("k"), clientv3.WithPrevKV())
		s.put("k", "1")
		s.put("k", "2")
		s.del("k")
		for _, want := range []string{"+k=1", "+k=2(1)", "-k(2)"} {
			s.want("events", s.events(s.next(w)), want)
		}
	}},
	{"it can leave out puts or deletions", func(s *store) {
		puts := s.Watch(s.ctx, s.key("k"), clientv3.WithFilterDelete())
		dels := s.Watch(s.ctx, s.key("k"), clientv3.WithFilterPut())
		s.put("k", "1")
		s.del("k")
		s.put("k", "2")
		s.want("puts", s.events(s.next(puts))+" "+s.events(s.next(puts)), "+k=1 +k=2")
		s.want("deletions", s.events(s.next(dels)), "-k")
	}},
	{"it can begin in the past", func(s *store) {
		first := s.put("a", "1").Header.Revision
		s.put("b", "2")
		s.del("a")
		w := s.Watch(s.ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(first), clientv3.WithPrevKV())
		var got []string
		for len(got) < 3 {
			got = append(got, strings.Fields(s.events(s.next(w)))...)
		}
		s.want("events", got, "[+a=1 +b=2 -a(1)]")
		s.put("c", "4")
		s.want("then the present", s.events(s.next(w)), "+c=4")
	}},
	{"it can begin in the future", func(s *store) {
		w := s.Watch(s.ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(s.rev()+2))
		s.put("a", "1")
		s.put("a", "2")
		s.want("events", s.events(s.next(w)), "+a=2")
	}},
	{"it can say that it is there", func(s *store) {
		w := s.Watch(s.ctx, s.key("k"), clientv3.WithCreatedNotify())
		r := s.next(w)
		s.want("created and revision", []any{r.Created, r.Header.Revision}, []any{true, s.rev()})
	}},
	{"it tells its progress on request", func(s *store) {
		w := s.Watch(s.ctx, s.key("k"))
		rev := s.put("other", "").Header.Revision
		if err := s.RequestProgress(s.ctx); err != nil {
			s.Fatal(err)
		}
		r := s.next(w)
		s.want("progress and revision", []any{r.IsProgressNotify(), r.Header.Revision}, []any{true, rev})
	}},
	{"below a compaction it ends and says where to go on", func(s *store) {
		old := s.put("k", "1").Header.Revision
		s.put("k", "2")
		rev := s.put("k", "3").Header.Revision
		must(s.Compact(s.ctx, rev, clientv3.WithCompactPhysical()))(s)
		w := s.Watch(s.ctx, s.key("k"), clientv3.WithRev(old))
		r := s.next(w)
		s.want("canceled and revision", []any{r.Canceled, r.CompactRevision}, []any{true, rev})
		s.wantErr("error", r.Err(), rpctypes.ErrCompacted)
		if _, open := <-w; open {
			s.Error("the channel is open after the end")
		}
		w = s.Watch(s.ctx, s.key("k"), clientv3.WithRev(rev))
		s.want("at the compacted revision", s.events(s.next(w)), "+k=3")
	}},
	{"its context closes it without a word", func(s *store) {
		ctx, cancel := context.WithCancel(s.ctx)
		w := s.Watch(ctx, s.key("k"))
		cancel()
		if r, open := <-w; open {
			s.Errorf("got %+v, want the channel closed", r)
		}
	}},
	{"a slow reader loses nothing", func(s *store) {
		w := s.Watch(s.ctx, s.key("k"))
		const n = 3000
		for i := range n {
			s.put("k", fmt.Sprint(i))
		}
		seen := 0
		for seen < n {
			for _, e := range s.next(w).Events {
				if string(e.Kv.Value) != fmt.Sprint(seen) {
					s.Fatalf("got event %s, want %d", e.Kv.Value, seen)
				}
				seen++
			}
		}
	}},
}
