package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

func request(out *bytes.Buffer) executor.Request {
	return executor.Request{
		Run: job.Run{
			Job: "charge", ID: "2026-11-21T02:30:00Z", Slot: at, Attempt: 2, Token: 77, Payload: json.RawMessage(`{"a":1}`),
		},
		Spec: job.Spec{Handler: "f"}, Deadline: at.Add(time.Minute), Output: out, TraceParent: "00-1-2-01",
	}
}

func execute(ctx context.Context, out *bytes.Buffer, f handler.Func) job.Outcome {
	return handler.New(map[string]handler.Func{"f": f}, func() time.Time { return at }).Execute(ctx, request(out))
}

func TestOutcomes(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, tt := range []struct {
		name string
		err  error
		want job.Outcome
	}{
		{"nil succeeds", nil, job.Outcome{State: job.Succeeded}},
		{"an error asks for a retry", broken, job.Outcome{State: job.Failed, Reason: "disk on fire", Retry: true}},
		{"a permanent error forbids a retry", fmt.Errorf("charge: %w", handler.Permanent(broken)), job.Outcome{State: job.Failed, Reason: "charge: disk on fire"}},
		{"an error may delay the retry", handler.RetryAfter(broken, time.Minute), job.Outcome{State: job.Failed, Reason: "disk on fire", Retry: true, After: time.Minute}},
		{"permanent nil is nil", handler.Permanent(nil), job.Outcome{State: job.Succeeded}},
		{"retry after nil is nil", handler.RetryAfter(nil, time.Minute), job.Outcome{State: job.Succeeded}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.At = at
			got := execute(t.Context(), new(bytes.Buffer), func(context.Context, handler.Task) error { return tt.err })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTaskDescribesTheAttempt(t *testing.T) {
	var got handler.Task
	var out bytes.Buffer
	execute(t.Context(), &out, func(_ context.Context, task handler.Task) error {
		fmt.Fprint(task.Output, "hello")
		task.Output, got = nil, task
		got.Output, got.Progress = nil, nil
		return nil
	})
	want := handler.Task{
		Job: "charge", Run: "charge/2026-11-21T02:30:00Z", Slot: at, Attempt: 2, Token: 77,
		Key: "charge/2026-11-21T02:30:00Z", Deadline: at.Add(time.Minute), Payload: json.RawMessage(`{"a":1}`),
		TraceParent: "00-1-2-01", Outputs: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	if out.String() != "hello" {
		t.Errorf("output %q, want hello", out.String())
	}
}

func TestAFunctionOwnsItsTask(t *testing.T) {
	req := func() executor.Request {
		return executor.Request{
			Run:    job.Run{Job: "charge", Params: map[string]string{"p": "1"}},
			Spec:   job.Spec{Handler: "f", Payload: json.RawMessage(`{"card":"1234"}`)}, // shared by all attempts of the job
			Inputs: map[string]map[string]string{"parent": {"rows": "12"}},
			Output: io.Discard,
		}
	}
	got := req()
	handler.New(map[string]handler.Func{"f": func(_ context.Context, task handler.Task) error {
		clear(task.Payload) // as a function does that erases a secret
		task.Params["p"] = "2"
		delete(task.Inputs["parent"], "rows")
		delete(task.Inputs, "parent")
		return nil
	}}, func() time.Time { return at }).Execute(t.Context(), got)
	if diff := cmp.Diff(req(), got); diff != "" {
		t.Errorf("request after the call (-want +got):\n%s", diff)
	}
}

func TestOutputsAreThoseOfTheReturn(t *testing.T) {
	var left map[string]string // of a goroutine that the function left behind
	got := execute(t.Context(), new(bytes.Buffer), func(_ context.Context, task handler.Task) error {
		left = task.Outputs
		left["rows"] = "12"
		return nil
	})
	left["rows"] = "late"
	if got.Outputs["rows"] != "12" {
		t.Errorf("outputs %v, want those that the function returned with", got.Outputs)
	}
}

func TestOutputsThatNoProgramCanReadFail(t *testing.T) {
	for _, value := range []string{"a\x00b", "a\xff"} {
		got := execute(t.Context(), new(bytes.Buffer), func(_ context.Context, task handler.Task) error {
			task.Outputs["rows"] = value
			return nil
		})
		want := job.Outcome{State: job.Failed, At: at, Reason: "output rows must be a text in UTF-8 without zero bytes"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
	}
}

func TestPanicFailsTheAttempt(t *testing.T) {
	var out bytes.Buffer
	got := execute(t.Context(), &out, func(context.Context, handler.Task) error { panic("boom") })
	want := job.Outcome{State: job.Failed, At: at, Reason: "panic: boom", Retry: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if !strings.Contains(out.String(), "panic: boom\n") || !strings.Contains(out.String(), "handler_test.go") {
		t.Errorf("output has no stack:\n%s", out.String())
	}
}

// ownError is an error of a function. Its nil pointer is an error that is not nil, and whose text panics.
type ownError struct{ text string }

func (e *ownError) Error() string { return e.text }

func TestAnErrorThatPanicsFailsTheAttempt(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for _, tt := range []struct {
		name string
		err  error
		end  error // how ctx ends before f returns; nil: it does not
		want job.State
	}{
		{"a nil pointer", (*ownError)(nil), nil, job.Failed},
		{"a nil pointer that is permanent", handler.Permanent((*ownError)(nil)), nil, job.Failed},
		{"a nil pointer after the end", (*ownError)(nil), executor.ErrStopping, job.Lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			got := execute(ended, &out, func(context.Context, handler.Task) error {
				if tt.end != nil {
					cancel(tt.end)
				}
				return tt.err
			})
			if got.State != tt.want || !got.Retry || !strings.Contains(got.Reason, "panic: runtime error: invalid memory address") {
				t.Errorf("got %+v, want %s because of a panic", got, tt.want)
			}
		})
	}
}

func TestGoexitFailsTheAttempt(t *testing.T) {
	got := execute(t.Context(), new(bytes.Buffer), func(context.Context, handler.Task) error { runtime.Goexit(); return nil })
	if got.State != job.Failed || got.Reason != "handler ended its goroutine without returning" {
		t.Errorf("got %+v", got)
	}
}

func TestTheCauseOfTheContextDecidesTheOutcome(t *testing.T) {
	for name, f := range map[string]func(context.Context) error{
		"a function that obeys":       func(ctx context.Context) error { return ctx.Err() },
		"a function that says why":    context.Cause,
		"a function that succeeds":    func(context.Context) error { return nil },
		"a function that ends by err": func(context.Context) error { return errors.New("half done") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			got := execute(ctx, new(bytes.Buffer), func(ctx context.Context, _ handler.Task) error {
				cancel(executor.ErrCanceled)
				return f(ctx)
			})
			if got.State != job.Canceled || !strings.HasPrefix(got.Reason, "canceled") {
				t.Errorf("got %+v, want canceled", got)
			}
		})
	}
}

// TestDoneWorkSucceedsAfterTheContextEnded checks that done work is not repeated because of a late timeout or a lost lease.
func TestDoneWorkSucceedsAfterTheContextEnded(t *testing.T) {
	for name, cause := range map[string]error{
		"a timeout": executor.ErrTimeout, "a deadline": context.DeadlineExceeded, "a shutdown": executor.ErrStopping,
		"a lease": executor.ErrFenced, "whatever": nil,
	} {
		for says, tt := range map[string]struct {
			err  error
			done bool
		}{"done": {nil, true}, "not done": {errors.New("half done"), false}} {
			t.Run(name+"/"+says, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				got := execute(ctx, new(bytes.Buffer), func(context.Context, handler.Task) error {
					cancel(cause)
					return tt.err
				})
				if tt.done && got.State != job.Succeeded {
					t.Errorf("got %+v, want succeeded", got)
				}
				if !tt.done && (got.State != job.TimedOut && got.State != job.Lost || !strings.HasSuffix(got.Reason, ": half done")) {
					t.Errorf("got %+v, want the outcome of the context's cause", got)
				}
			})
		}
	}
}

func TestFunctionIsNotCalledAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(executor.ErrStopping)
	got := execute(ctx, new(bytes.Buffer), func(context.Context, handler.Task) error { t.Error("called"); return nil })
	if got.State != job.Lost || got.Reason != "worker stopped" {
		t.Errorf("got %+v, want lost", got)
	}
}

func TestUnknownHandlerFails(t *testing.T) {
	e := handler.New(nil, func() time.Time { return at })
	got := e.Execute(t.Context(), request(new(bytes.Buffer)))
	want := job.Outcome{State: job.Failed, At: at, Reason: `handler "f" is not registered on this worker`, Retry: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestOutputAndProgressAreHeartbeats(t *testing.T) {
	beats := 0
	req := executor.Request{Spec: job.Spec{Handler: "f"}, Output: new(bytes.Buffer), Beat: func() { beats++ }}
	e := handler.New(map[string]handler.Func{"f": func(_ context.Context, task handler.Task) error {
		task.Progress()
		fmt.Fprintln(task.Output, "half of it")
		return nil
	}}, func() time.Time { return at })
	if o := e.Execute(t.Context(), req); o.State != job.Succeeded || beats != 2 {
		t.Errorf("%d beats and %+v, want two", beats, o)
	}
	req.Beat = nil // a job without a heartbeat
	if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
		t.Errorf("got %+v", o)
	}
}

// TestAllocationsOfACall bounds the allocations of a call of a function of a job without a heartbeat. One is the copy of the
// payload.
func TestAllocationsOfACall(t *testing.T) {
	const most = 6
	e := handler.New(map[string]handler.Func{"f": func(context.Context, handler.Task) error { return nil }}, time.Now)
	ctx, req := t.Context(), request(new(bytes.Buffer))
	if got := testing.AllocsPerRun(100, func() { e.Execute(ctx, req) }); got > most {
		t.Errorf("%.0f allocations, want at most %d", got, most)
	}
}
