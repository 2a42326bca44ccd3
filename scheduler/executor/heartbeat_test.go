package executor_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAMissingHeartbeatIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, beat, stop := executor.WithHeartbeat(t.Context(), 5*time.Minute)
		defer stop()
		for range 3 {
			time.Sleep(4 * time.Minute)
			beat()
		}
		<-ctx.Done()
		if took := time.Since(began).Round(time.Second); took != 17*time.Minute {
			t.Errorf("ended after %v, want 5 minutes after the last beat, at 12", took)
		}
		beat() // too late
		o, ok := executor.Interrupted(ctx, &executor.Request{Spec: job.Spec{Timeout: job.Duration(time.Hour)}}, began)
		if !ok || o.State != job.TimedOut || !o.Retry || o.Reason != "no heartbeat for 5m0s" {
			t.Errorf("got %+v, want timed out", o)
		}
	})
}

// TestProgressDuringASuspensionCounts is about a process that was suspended. When it goes on, the limit has passed, and progress
// that was made meanwhile is reported only then.
func TestProgressDuringASuspensionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, beat, stop := executor.WithHeartbeat(t.Context(), time.Minute)
		defer stop()
		time.Sleep(time.Minute + time.Nanosecond)
		beat()
		time.Sleep(59 * time.Second)
		if ctx.Err() != nil {
			t.Errorf("the attempt ended: %v", context.Cause(ctx))
		}
		<-ctx.Done() // it has made no progress since
	})
}

func TestTheFirstCauseCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		ctx, _, stop := executor.WithHeartbeat(parent, time.Minute)
		defer stop()
		cancel(executor.ErrCanceled)
		time.Sleep(time.Hour)
		if cause := context.Cause(ctx); !errors.Is(cause, executor.ErrCanceled) {
			t.Errorf("cause %v, want canceled", cause)
		}
	})
}

func TestWithoutAHeartbeatNothingEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, beat, stop := executor.WithHeartbeat(t.Context(), 0)
		defer stop()
		beat()
		time.Sleep(365 * 24 * time.Hour)
		if ctx.Err() != nil {
			t.Error("the context ended")
		}
		(&executor.Request{}).Progress()
	})
}

func TestReadsReportProgress(t *testing.T) {
	beats := 0
	req := executor.Request{Beat: func() { beats++ }}
	if b, err := io.ReadAll(req.ReportReads(strings.NewReader("hello"))); string(b) != "hello" || err != nil || beats != 1 {
		t.Errorf("read %q, %v, with %d beats; want one", b, err, beats)
	}
}
