package election

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/rota-scheduler/rota/store/mem"
)

// TestAHandoverNeedsNoReadOfTheQueue has a standby whose reads of the queue fail when the leader resigns. Its confirming write alone
// proves the win.
func TestAHandoverNeedsNoReadOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var blind atomic.Bool
		etcd := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
			if txn, ok := op.Request.(*pb.TxnRequest); ok && len(txn.Compare) == 0 && blind.Load() {
				return mem.Verdict{Action: mem.Refuse}
			}
			return mem.Verdict{}
		})})
		t.Cleanup(func() { _ = etcd.Close() })
		var leads [2]atomic.Bool
		var stops [2]context.CancelFunc
		for i, name := range []string{"a", "b"} {
			e := New(Config{Prefix: "/rota/election/", Name: name}, etcd.Client(), hclog.NewNullLogger())
			background(t, func(ctx context.Context) error {
				ctx, stops[i] = context.WithCancel(ctx)
				return e.Run(ctx, func(ctx context.Context, _ Term) error {
					leads[i].Store(true)
					<-ctx.Done()
					return context.Cause(ctx)
				})
			})
			pass(time.Second / 2) // so that they queue in this order
		}
		if !leads[0].Load() || leads[1].Load() {
			t.Fatalf("leading: got a %v, b %v, want only a", leads[0].Load(), leads[1].Load())
		}
		blind.Store(true)
		stops[0]()
		pass(100 * time.Millisecond)
		if !leads[1].Load() {
			t.Error("the standby waits for a read of the queue")
		}
	})
}
