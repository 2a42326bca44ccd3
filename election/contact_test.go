package election

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

// TestALeaderWithoutContactIsReplaced has members that answer only renewals. A member whose disk hangs does that: it forwards
// renewals to etcd's leader.
func TestALeaderWithoutContactIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Pointer[clientv3.Client]
		etcd := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
			if op.Kind != mem.KeepAlive && op.Client == hung.Load() {
				return mem.Verdict{Action: mem.Refuse, Hang: true}
			}
			return mem.Verdict{}
		})})
		t.Cleanup(func() { _ = etcd.Close() })
		var leads [3]atomic.Bool
		var clients [3]*clientv3.Client
		for i, name := range []string{"a", "b", "c"} {
			clients[i] = etcd.Client()
			e := New(Config{Prefix: "/rota/election/", Name: name}, clients[i], hclog.NewNullLogger())
			background(t, func(ctx context.Context) error {
				return e.Run(ctx, func(ctx context.Context, _ Term) error {
					leads[i].Store(true)
					defer leads[i].Store(false)
					<-ctx.Done()
					return context.Cause(ctx)
				})
			})
			pass(time.Second / 2) // so that they queue in this order
		}
		longest := maxSilence(DefaultTTL) + DefaultTTL + 2*time.Second // until it gives up its lease, and the lease has expired
		pass(time.Minute)
		if !leads[0].Load() {
			t.Fatal("a lost its term without a fault")
		}
		hung.Store(clients[1])
		pass(longest)
		standing, err := Candidates(t.Context(), clients[0], "/rota/election/")
		if err != nil || len(standing) != 2 || standing[0].Node != "a" || standing[1].Node != "c" {
			t.Errorf("with the member of b hanging: got %v, %v, want a and c in the queue", standing, err)
		}
		hung.Store(clients[0])
		pass(longest)
		if leads[0].Load() || !leads[2].Load() {
			t.Errorf("with the member of a hanging, leading: got a %v, b %v, c %v, want c", leads[0].Load(), leads[1].Load(), leads[2].Load())
		}
	})
}
