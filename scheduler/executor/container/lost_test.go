package container

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnInterruptedStartIsUndone interrupts an attempt while the engine does not tell if the container was started. The engine comes
// back later. A program that began gets its grace, or has ended by itself.
func TestAnInterruptedStartIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		fresh, running bool
		want           job.State
		signals        string
		removed        bool
	}{
		"not begun": {true, false, job.Canceled, "", true},
		"running":   {false, true, job.Canceled, "SIGTERM", true},
		"ended":     {false, false, job.Succeeded, "", false},
	} {
		f, e := newFaulty(t, map[string]int{"start": 1, "json": -1, "wait": -1, "remove": 2})
		e.patience, f.fresh = 50*time.Millisecond, c.fresh
		ctx, cancel := context.WithCancelCause(t.Context())
		var begun time.Time
		f.seen = func(call string) {
			switch {
			case call == "json" && begun.IsZero():
				begun, f.running = time.Now(), c.running
				cancel(executor.ErrCanceled)
			case call == "json" && time.Since(begun) > 20*e.patience:
				f.broken = nil
			}
		}
		o := e.Execute(ctx, faultyRequest(io.Discard))
		if o.State != c.want || f.removed != c.removed || strings.Join(f.signals, " ") != c.signals {
			t.Errorf("%s: got %+v, removed: %v, signals %q", name, o, f.removed, f.signals)
		}
	}
}

// TestAStartThatMayComeLater lets each start be without an answer, while the container has not begun. Its removal fails five times.
func TestAStartThatMayComeLater(t *testing.T) {
	for name, c := range map[string]struct {
		removal  int // the status of a failed removal; negative: the connection breaks
		begins   bool
		want     job.State
		notBegun bool
		removed  bool
	}{
		"but is undone":                 {-1, false, job.Lost, true, true},
		"and does":                      {-1, true, job.Succeeded, false, false},
		"and the removal is refused":    {http.StatusForbidden, false, job.Lost, false, false},
		"and the removal is under way":  {http.StatusConflict, false, job.Lost, true, true},
		"and the removal is in trouble": {http.StatusInternalServerError, false, job.Lost, true, true},
	} {
		f, e := newFaulty(t, map[string]int{"start": -1, "remove": 5})
		e.patience, f.fresh = 50*time.Millisecond, true
		f.seen = func(call string) {
			f.status = -1
			if call == "remove" {
				f.status, f.running = c.removal, c.begins && f.calls["remove"] == 3
			}
		}
		o := e.Execute(t.Context(), faultyRequest(io.Discard))
		if o.State != c.want || o.NotBegun != c.notBegun || f.removed != c.removed {
			t.Errorf("%s: got %+v, removed: %v", name, o, f.removed)
		}
	}
}

// TestAContainerWithoutOutputsStaysForTheNextAttempt ends the worker while the engine cannot give the outputs.
func TestAContainerWithoutOutputsStaysForTheNextAttempt(t *testing.T) {
	for name, c := range map[string]struct{ hangs, hurried bool }{
		"errors": {}, "no answer": {hangs: true}, "another worker may execute the run": {hangs: true, hurried: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, e := newFaulty(t, map[string]int{"outputs": -1})
			ctx, cancel := context.WithCancelCause(t.Context())
			hurry := make(chan struct{})
			var ended time.Time
			f.seen = func(call string) {
				if call != "outputs" || !ended.IsZero() {
					return
				}
				ended = time.Now()
				if c.hurried {
					close(hurry)
				} else {
					cancel(executor.ErrStopping)
				}
			}
			if c.hangs {
				e = withEngine(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/archive") {
						f.mu.Lock()
						f.seen("outputs")
						f.mu.Unlock()
						<-r.Context().Done()
						return
					}
					f.answer(w, r)
				})
			}
			req := faultyRequest(io.Discard)
			req.Hurry = hurry
			o := e.Execute(ctx, req)
			if took := time.Since(ended); o.State != job.Lost || !o.Retry || f.removed || took > 10*time.Second {
				t.Errorf("got %+v after %v, removed: %v", o, took, f.removed)
			}
		})
	}
}

// TestAnExitBeforeTheSignalCanBeAdopted ends the worker after the program ended. The engine cannot give the outputs.
func TestAnExitBeforeTheSignalCanBeAdopted(t *testing.T) {
	f, e := newFaulty(t, map[string]int{"outputs": -1})
	ctx, cancel := context.WithCancelCause(t.Context())
	f.seen = func(call string) {
		if call == "wait" && f.calls["wait"] == 1 {
			f.broken["json"] = 1
			cancel(executor.ErrStopping)
		}
	}
	req := faultyRequest(io.Discard)
	name := nameOf("c", &req.Run)
	o := e.Execute(ctx, req)
	if want := []string{name + endedSuffix, name}; o.State != job.Lost || f.removed || !slices.Equal(f.names, want) {
		t.Errorf("got %+v, removed: %v, names %q", o, f.removed, f.names)
	}
}

// TestOutputsThatHangNeedNoHeartbeat lets the engine hang for longer than the heartbeat of a program that has ended, and then fail.
func TestOutputsThatHangNeedNoHeartbeat(t *testing.T) {
	t.Parallel()
	f, _ := newFaulty(t, map[string]int{"outputs": 4})
	e := withEngine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/archive") && f.count("outputs") == 0 {
			<-time.After(2500 * time.Millisecond)
		}
		f.answer(w, r)
	})
	e.patience = 50 * time.Millisecond
	req := faultyRequest(io.Discard)
	ctx, beat, stop := executor.WithHeartbeat(t.Context(), time.Second)
	defer stop()
	req.Beat = beat
	if o := e.Execute(ctx, req); o.State != job.Succeeded {
		t.Errorf("got %+v after %d calls", o, f.count("outputs"))
	}
}

// TestAPingThatHangsBlocksNoOtherCall lets a call without a deadline ask for the version of the engine, which does not answer.
func TestAPingThatHangsBlocksNoOtherCall(t *testing.T) {
	asked := make(chan struct{}, 2)
	e := withEngine(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	ended := make(chan error, 1)
	go func() { ended <- e.engine.wait(ctx, "c1") }()
	defer func() { cancel(); <-ended }()
	<-asked
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	_, err := e.engine.inspect(short, "c1")
	if err == nil || ctx.Err() != nil {
		t.Errorf("got %v, want the end of the short call", err)
	}
}

// TestOutputThatTheEngineCannotGive lets the engine answer that it has no logs, as with some of its log drivers.
func TestOutputThatTheEngineCannotGive(t *testing.T) {
	f, e := newFaulty(t, map[string]int{"logs": -1})
	f.status = http.StatusNotImplemented
	var out strings.Builder
	o := e.Execute(t.Context(), faultyRequest(&out))
	if o.State != job.Succeeded || f.count("logs") != 1 || !strings.Contains(out.String(), "output cannot be read: context") {
		t.Errorf("got %+v, output %q, %d calls", o, out.String(), f.count("logs"))
	}
}

// TestAnExitWhileTheEngineIsAwayDecides lets a program exit well while the engine does not answer. Then the attempt times out. The
// engine comes back during the grace or after it. It answers no signal, or the program exits only after the signal.
func TestAnExitWhileTheEngineIsAwayDecides(t *testing.T) {
	for name, c := range map[string]struct {
		calls int // how many signals have no answer
		late  time.Duration
		want  job.State
	}{
		"back in the grace":    {1, -time.Millisecond, job.Succeeded},
		"back after the grace": {2, -time.Millisecond, job.Succeeded},
		"exit after a signal":  {1, time.Hour, job.TimedOut},
	} {
		f, e := newFaulty(t, nil)
		f.status = -1
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := false
		f.seen = func(call string) {
			switch {
			case call == "wait" && !begun:
				begun, f.running, f.ended = true, false, time.Now().Add(c.late)
				f.broken = map[string]int{"wait": -1, "json": -1, "kill": -1, "rename": -1}
				cancel(executor.ErrTimeout)
			case call == "kill" && f.calls["kill"] == c.calls:
				f.broken = map[string]int{"kill": 1}
			}
		}
		req := faultyRequest(io.Discard)
		req.Spec.KillGrace = job.Duration(time.Second)
		if o := e.Execute(ctx, req); o.State != c.want {
			t.Errorf("%s: got %+v", name, o)
		}
	}
}
