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

// compacted starts an etcd with the quota smallQuota. Its compactor polls more often than in a real process.
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

// fill writes n bytes to the given number of keys, in steps of 128 KiB. It sleeps for pace after each step.
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
		// The sleep limits the speed of the writer. There is no condition to poll.
		time.Sleep(pace)
	}
}

// TestOldRevisionsAreBounded checks when a compaction is due. Old revisions may take as many bytes as the last compaction left,
// or usual if that is more. They may never take more than their share of the free space.
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

// much is larger than the share of the quota that old revisions may take, but leaves room for old revisions.
const much = smallQuota * 5 / 16

// TestManyWritesDoNotFillAnEmbeddedEtcd writes the same few keys again and again. Without compactions, their old revisions would
// fill the quota several times. The store is first empty, and later large.
func TestManyWritesDoNotFillAnEmbeddedEtcd(t *testing.T) {
	t.Parallel()
	c := compacted(t)
	fill(t, c, 4*smallQuota, 32, time.Millisecond) // at most 100 MiB/s: the revisions that are kept fit into the share
	fill(t, c, much, math.MaxInt, time.Millisecond)
	fill(t, c, 2*smallQuota, 32, 5*time.Millisecond)
}

// TestASlowListOfALargeStoreFinishes reads at one revision for much longer than the compactor keeps revisions. Meanwhile little
// is written.
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
