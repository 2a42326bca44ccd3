package election

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

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
