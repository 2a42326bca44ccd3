package etcdconn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/embedded"
)

const smallQuota = 64 << 20

// compacted starts an etcd of smallQuota, with a compactor that is faster than that of a process.
func compacted(t *testing.T) *clientv3.Client {
	t.Helper()
	s, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", QuotaBytes: smallQuota, NoSync: true}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &compactor{
		client: s.Client(), endpoint: s.Endpoint(), log: hclog.NewNullLogger(),
		every: 20 * time.Millisecond, keep: 100 * time.Millisecond, usual: smallQuota, share: compactShare,
	}
	wg.Go(func() { c.run(ctx) })
	return s.Client()
}

// fill writes n bytes to so many keys: 128 KiB after each pace.
func fill(t *testing.T, c *clientv3.Client, n, keys int, pace time.Duration) {
	t.Helper()
	value := strings.Repeat("x", 4<<10)
	for k := 0; k*len(value) < n; {
		ops := make([]clientv3.Op, 32)
		for i := range ops {
			ops[i] = clientv3.OpPut(fmt.Sprint("k", k%keys), value)
			k++
		}
		if _, err := c.Txn(t.Context()).Then(ops...).Commit(); err != nil {
			t.Fatalf("after %d MiB: %v", k*len(value)>>20, err)
		}
		// The pause is the pace of the writer. Nothing happens that could be polled.
		time.Sleep(pace)
	}
}

// TestOldRevisionsAreBounded checks that old revisions take at most as much as the last compaction left, unless that is little,
// and at most their share of the free room.
func TestOldRevisionsAreBounded(t *testing.T) {
	t.Parallel()
	c := &compactor{usual: 64, share: 4}
	for left, most := range map[int64]int64{0: 64, 10: 64, 300: 300, 400: 400, 1000: 262} {
		for use, want := range map[int64]bool{left + most: false, left + most + 1: true} {
			if got := c.due(use, left, left, 2048); got != want {
				t.Errorf("%d in use, of which %d were left: due is %t", use, left, got)
			}
		}
	}
	if c.due(1000, 0, 990, 2048) || !c.due(1000, 0, 980, 2048) {
		t.Error("in a large store, the first compaction has to wait until something is written")
	}
}

// much exceeds the share of the quota, and leaves room for old revisions.
const much = smallQuota * 5 / 16

// TestManyWritesDoNotFillAnEmbeddedEtcd writes the same few keys until their old revisions alone would fill the quota several
// times: at first in an empty store, and then in a large one.
func TestManyWritesDoNotFillAnEmbeddedEtcd(t *testing.T) {
	t.Parallel()
	c := compacted(t)
	fill(t, c, 4*smallQuota, 32, time.Millisecond) // at most 100 MiB/s: the revisions that are kept fit into the share
	fill(t, c, much, math.MaxInt, time.Millisecond)
	fill(t, c, 2*smallQuota, 32, 5*time.Millisecond)
}

// TestASlowListOfALargeStoreFinishes reads at one revision for much longer than revisions are kept, while little is written.
func TestASlowListOfALargeStoreFinishes(t *testing.T) {
	t.Parallel()
	c := compacted(t)
	fill(t, c, much, math.MaxInt, time.Millisecond)
	compacted := func(rev int64) bool {
		_, err := c.Get(t.Context(), "k0", clientv3.WithRev(rev))
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			t.Fatal(err)
		}
		return err != nil
	}
	eventually(t, "the past was compacted once", func() bool { return compacted(2) })
	eventually(t, "a list is finished", func() bool {
		list, err := c.Put(t.Context(), "k0", "x")
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			if _, err := c.Put(t.Context(), "k0", "x"); err != nil {
				t.Fatal(err)
			}
			if compacted(list.Header.Revision) {
				return false
			}
		}
		return true
	})
}
