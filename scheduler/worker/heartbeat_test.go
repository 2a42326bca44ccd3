package worker

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAnAttemptWithoutHeartbeatIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
			for range 3 {
				time.Sleep(4 * time.Minute)
				req.Progress()
			}
			<-ctx.Done()
			o, _ := executor.Interrupted(ctx, &req, time.Now())
			return o
		})
		r.store.define("backup", job.Spec{Command: []string{"x"}, Heartbeat: job.Duration(5 * time.Minute)})
		r.start()
		name, _ := r.one()
		after(16*time.Minute + 55*time.Second)
		r.wantState(name, job.Running)
		after(10 * time.Second)
		if got := r.wantState(name, job.TimedOut); got.Reason != "no heartbeat for 5m0s" {
			t.Errorf("reason %q", got.Reason)
		}
	})
}

func TestThePresenceListsTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.cfg.Limits = []string{"cpu", "memory"}
		r.start()
		after(time.Second)
		if got := r.sessions.shown().Limits; !slices.Equal(got, r.cfg.Limits) {
			t.Errorf("others see %q", got)
		}
	})
}
