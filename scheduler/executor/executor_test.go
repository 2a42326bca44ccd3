package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

func now() time.Time { return at }

func TestInterruptedMapsCauses(t *testing.T) {
	req := &executor.Request{Spec: job.Spec{Timeout: job.Duration(30 * time.Minute)}}
	for _, tt := range []struct {
		name  string
		cause error
		want  job.Outcome
	}{
		{"timeout", executor.ErrTimeout, job.Outcome{State: job.TimedOut, Reason: "timed out after 30m", Retry: true}},
		{"plain deadline", context.DeadlineExceeded, job.Outcome{State: job.TimedOut, Reason: "timed out after 30m", Retry: true}},
		{"timeout that says more", fmt.Errorf("no progress for 5m: %w", executor.ErrTimeout), job.Outcome{State: job.TimedOut, Reason: "no progress for 5m: timed out", Retry: true}},
		{"cancel", fmt.Errorf("%w: by alice", executor.ErrCanceled), job.Outcome{State: job.Canceled, Reason: "canceled: by alice"}},
		{"stopping", executor.ErrStopping, job.Outcome{State: job.Lost, Reason: "worker stopped", Retry: true}},
		{"fenced", executor.ErrFenced, job.Outcome{State: job.Lost, Reason: "worker lost its lease", Retry: true}},
		{"no cause", nil, job.Outcome{State: job.Lost, Reason: "attempt was interrupted: context canceled", Retry: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if _, ok := executor.Interrupted(ctx, req, at); ok {
				t.Fatal("interrupted before the context ended")
			}
			cancel(tt.cause)
			got, ok := executor.Interrupted(ctx, req, at)
			tt.want.At = at
			if diff := cmp.Diff(tt.want, got); !ok || diff != "" {
				t.Errorf("ok %v, outcome (-want +got):\n%s", ok, diff)
			}
		})
	}
}

type stub struct{}

func (stub) Execute(context.Context, executor.Request) job.Outcome {
	return job.Outcome{State: job.Succeeded, At: at}
}

func TestSetDispatchesByKind(t *testing.T) {
	set := executor.NewSet(map[string]executor.Executor{"shell": stub{}}, now)
	if o := set.Execute(t.Context(), executor.Request{Spec: job.Spec{Shell: "true"}}); o.State != job.Succeeded {
		t.Errorf("known kind: got %+v", o)
	}
	want := job.Outcome{State: job.Failed, At: at, Reason: `worker cannot execute jobs of kind "handler"`, Retry: true}
	if diff := cmp.Diff(want, set.Execute(t.Context(), executor.Request{Spec: job.Spec{Handler: "x"}})); diff != "" {
		t.Errorf("unknown kind (-want +got):\n%s", diff)
	}
	want = job.Outcome{State: job.Failed, At: at, Reason: "job has nothing to execute"}
	if diff := cmp.Diff(want, set.Execute(t.Context(), executor.Request{})); diff != "" {
		t.Errorf("no kind (-want +got):\n%s", diff)
	}
}

func TestPayloadOfTheRunGoesBeforeTheJobs(t *testing.T) {
	req := executor.Request{Spec: job.Spec{Payload: json.RawMessage(`1`)}}
	if got := string(req.Payload()); got != "1" {
		t.Errorf("got %q, want the job's", got)
	}
	req.Run.Payload = json.RawMessage(`2`)
	if got := string(req.Payload()); got != "2" {
		t.Errorf("got %q, want the run's", got)
	}
}

// An older leader may give a worker a run of a kind that it must not execute. Runs of other kinds go on.
func TestARefusalConcernsItsKind(t *testing.T) {
	o := executor.Refusal("this worker executes no containers").Execute(t.Context(), executor.Request{})
	if !o.NotBegun || !o.KindAway || !strings.Contains(o.Reason, "no containers") {
		t.Errorf("got %+v, want an attempt that has not begun, of a kind that is away", o)
	}
}
