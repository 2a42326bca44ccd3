package election

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

// TestAReplicaLeadsSoonAfterAnOutage has outages that are long enough for the pauses to grow.
func TestAReplicaLeadsSoonAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, leading atomic.Bool
		etcd := mem.New(mem.Config{Faults: mem.FaultFunc(func(mem.Op) mem.Verdict {
			if out.Load() {
				return mem.Verdict{Action: mem.Refuse}
			}
			return mem.Verdict{}
		})})
		t.Cleanup(func() { _ = etcd.Close() })
		e := New(Config{Prefix: "/rota/election/", Name: "a"}, etcd.Client(), hclog.NewNullLogger())
		background(t, func(ctx context.Context) error {
			return e.Run(ctx, func(ctx context.Context, _ Term) error {
				leading.Store(true)
				defer leading.Store(false)
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
		for range 20 {
			out.Store(true)
			time.Sleep(30 * time.Second)
			out.Store(false)
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			if !leading.Load() {
				t.Fatal("no leader 1.5 s after the outage")
			}
		}
	})
}

// TestAKeyThatWasNeverReadIsRemoved partitions a candidate after its key was written and before it has read it. Lease and key outlive
// the candidacy, as they do after a time without a quorum.
func TestAKeyThatWasNeverReadIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var blind, out, leading atomic.Bool
		var own *clientv3.Client
		etcd := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
			txn, ok := op.Request.(*pb.TxnRequest)
			if read := ok && len(txn.Compare) == 0; op.Client == own && (out.Load() || read && blind.Load()) {
				return mem.Verdict{Action: mem.Refuse}
			}
			return mem.Verdict{}
		})})
		t.Cleanup(func() { _ = etcd.Close() })
		own = etcd.Client()
		other := etcd.Client()
		blind.Store(true)
		e := New(Config{Prefix: "/rota/election/", Name: "a", TTL: longTTL, RenewEvery: time.Second, Margin: longTTL - 3*time.Second}, own, hclog.NewNullLogger())
		background(t, func(ctx context.Context) error {
			return e.Run(ctx, func(ctx context.Context, _ Term) error {
				leading.Store(true)
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
		pass(time.Second)
		out.Store(true)
		pass(10 * time.Second)
		if resp, err := other.Get(t.Context(), "/rota/election/", clientv3.WithPrefix()); err != nil || resp.Count != 1 || leading.Load() {
			t.Fatalf("after the outage: got %v, %v, leading %v, want one key and no leader", resp, err, leading.Load())
		}
		blind.Store(false)
		out.Store(false)
		pass(5 * time.Second)
		if !leading.Load() {
			t.Error("the candidate waits for its own old key")
		}
	})
}
