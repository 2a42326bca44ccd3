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

// TestSomebodyLeadsSoonAfterAnOutage has outages that are long enough for pauses to grow.
func TestSomebodyLeadsSoonAfterAnOutage(t *testing.T) {
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
				t.Fatal("nobody leads 1.5 s after the outage")
			}
		}
	})
}

// TestAKeyThatWasNeverSeenIsNotWaitedFor has a candidate cut off after its key was written, and before it has read it. The key
// outlives the candidacy, since the lease does, as it does where etcd had no majority meanwhile.
func TestAKeyThatWasNeverSeenIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var blind, out, leading atomic.Bool
		var own *clientv3.Client
		etcd := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
			txn, ok := op.Request.(*pb.TxnRequest)
			if look := ok && len(txn.Compare) == 0; op.Client == own && (out.Load() || look && blind.Load()) {
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
			t.Error("it waits for a key of its own")
		}
	})
}
