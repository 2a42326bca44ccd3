package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"pgregory.net/rapid"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

// TestMemIsLikeEtcd makes the same random operations on mem and on etcd. It
// compares every answer, and then every watch.
func TestMemIsLikeEtcd(t *testing.T) {
	t.Parallel()
	etcd := inProcess(t, startEtcd(t))(t)
	rapid.Check(t, func(t *rapid.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		real, fake := newSide(t, "etcd", etcd), newSide(t, "mem", srv.Client())
		defer real.end()
		defer fake.end()

		g := generator{T: t, side: fake}
		both := func(o operation) {
			want, got := o.do(real), o.do(fake)
			t.Logf("%s\n\t-> %s", o, want)
			if got != want {
				t.Fatalf("%s\n got %s\nwant %s", o, got, want)
			}
		}
		settle := func() {
			// A watch can report its progress only after its first revision.
			for fake.now() < g.furthest {
				both(operation{name: "put filler", do: func(s *side) string {
					return s.answer(s.Do(s.ctx, clientv3.OpPut(prefix+"filler", "")))
				}})
			}
			compareWatches(t, real, fake)
		}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			o := g.operation()
			if o.settles {
				settle()
			}
			both(o)
		}
		settle()
	})
}

// prefix is the beginning of all keys of the differential test.
const prefix = "d/"

// runs counts the runs of the differential test.
var runs atomic.Int64

// side is one of the two stores in one run. Revisions and leases differ between
// the stores. So operations count revisions from the start of the run, and name
// leases by number.
type side struct {
	*clientv3.Client
	t       *rapid.T
	name    string
	ctx     context.Context
	cancel  context.CancelFunc
	base    int64
	leases  []clientv3.LeaseID
	watches []*watched
}

func newSide(t *rapid.T, name string, c *clientv3.Client) *side {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	// Each run has its own stream of watches: etcd's client (3.7.3) may panic
	// if a progress notification arrives while a watch of the same stream ends.
	ctx = metadata.AppendToOutgoingContext(ctx, "run", fmt.Sprint(runs.Add(1)))
	s := &side{Client: c, t: t, name: name, ctx: ctx, cancel: cancel}
	if _, err := c.Delete(ctx, prefix, clientv3.WithPrefix()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	// The base of this run is a revision above all revisions of the run before.
	// No key under prefix changes at it.
	resp, err := c.Put(ctx, "base", "")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s.base = resp.Header.Revision
	return s
}

func (s *side) end() {
	for _, id := range s.leases {
		_, _ = s.Revoke(s.ctx, id) // the lease may be gone
	}
	s.cancel()
}

// rev converts a revision relative to the start of the run into one of this
// store. Generated operations contain relative revisions. 0 stays 0.
func (s *side) rev(n int64) int64 {
	if n == 0 {
		return 0
	}
	return s.base + n - 1
}

// relative is the inverse of rev.
func (s *side) relative(rev int64) int64 {
	if rev == 0 {
		return 0
	}
	return rev - s.base + 1
}

// now returns the present revision, relative to the start of the run.
func (s *side) now() int64 {
	resp, err := s.Get(s.ctx, prefix)
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	return s.relative(resp.Header.Revision)
}

// lease returns the n-th granted lease, counted from 1. 0 means no lease. If n
// was not granted, it returns an id that does not exist.
func (s *side) lease(n int) clientv3.LeaseID {
	switch {
	case n == 0:
		return clientv3.NoLease
	case n > len(s.leases):
		return 12345
	}
	return s.leases[n-1]
}

func (s *side) leaseName(id int64) string {
	for i, l := range s.leases {
		if int64(l) == id {
			return fmt.Sprint("L", i+1)
		}
	}
	if id == 0 {
		return "-"
	}
	return "?"
}
