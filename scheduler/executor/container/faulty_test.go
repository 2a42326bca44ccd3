package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// faulty is an engine with one container, c1. It answers with an error to calls that are in broken.
type faulty struct {
	mu      sync.Mutex
	broken  map[string]int    // guarded by mu: how many calls fail, by the end of the path; negative: all
	after   string            // the call after which calls are broken
	status  int               // of the errors; 0: 500; negative: the connection breaks
	calls   map[string]int    // guarded by mu, by the end of the path
	signals []string          // guarded by mu
	running bool              // guarded by mu
	removed bool              // guarded by mu
	exit    int               // guarded by mu
	ended   time.Time         // guarded by mu: when the container ended; zero: the engine does not say
	kept    bool              // guarded by mu: no removal ends
	fresh   bool              // guarded by mu: the container has not begun if it does not run
	names   []string          // guarded by mu: new names of the container
	seen    func(call string) // called with each call, under mu; nil: nothing
}

func newFaulty(t *testing.T, broken map[string]int) (*faulty, *Executor) {
	t.Helper()
	f := &faulty{broken: broken, calls: map[string]int{}}
	return f, withEngine(t, f.answer)
}

// count returns how many calls of a kind there were.
func (f *faulty) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

func (f *faulty) answer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Api-Version", "1.44")
	w.Header().Set("Content-Type", "application/json")
	call := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Method == http.MethodDelete {
		call = "remove"
	}
	if r.Method == http.MethodGet && call == "archive" {
		call = "outputs"
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/containers/json"):
		call = "list"
	case strings.Contains(r.URL.Path, "/images/"):
		_, _ = io.WriteString(w, "{}")
		return
	}
	f.calls[call]++
	if f.seen != nil {
		f.seen(call)
	}
	if n := f.broken[call]; n != 0 && (f.after == "" || f.calls[f.after] > 0) {
		f.broken[call] = n - 1
		if f.status < 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(cmp.Or(f.status, http.StatusInternalServerError))
		_, _ = io.WriteString(w, `{"message":"context deadline exceeded"}`)
		return
	}
	switch call {
	case "list":
		_, _ = io.WriteString(w, "[]")
	case "create":
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"Id":"c1"}`)
	case "start":
		f.running = true
		w.WriteHeader(http.StatusNoContent)
	case "kill":
		if !f.running {
			w.WriteHeader(http.StatusConflict)
			return
		}
		f.signals = append(f.signals, r.URL.Query().Get("signal"))
		f.running, f.exit = false, 143
		w.WriteHeader(http.StatusNoContent)
	case "wait":
		f.running = false
		_, _ = io.WriteString(w, `{"StatusCode":0}`)
	case "json":
		state := "exited"
		switch {
		case f.running:
			state = "running"
		case f.fresh:
			state = "created"
		}
		_, _ = fmt.Fprintf(w, `{"Id":"c1","Name":"/x","State":{"Status":%q,"Running":%v,"ExitCode":%d,"FinishedAt":%q}}`,
			state, f.running, f.exit, f.ended.Format(time.RFC3339Nano))
	case "rename":
		f.names = append(f.names, r.URL.Query().Get("name"))
	case "outputs":
		w.WriteHeader(http.StatusNotFound)
	case "remove":
		if f.removed = !f.kept; f.kept {
			w.WriteHeader(http.StatusConflict)
		}
	}
}

func faultyRequest(out io.Writer) executor.Request {
	return executor.Request{
		Run: job.Run{Job: "pay", ID: "1", Attempt: 1, Token: 5}, Output: out,
		Spec: job.Spec{Container: &job.Container{Image: "pay", Pull: job.PullNever}},
	}
}

// TestAnErrorOfTheEngineEndsNoContainer lets each question about a container fail once.
func TestAnErrorOfTheEngineEndsNoContainer(t *testing.T) {
	for name, c := range map[string]struct {
		after  string
		broken map[string]int
	}{
		"the wait and the inspections after it": {"wait", map[string]int{"wait": 2, "json": 2}},
		"the inspection after the start":        {"start", map[string]int{"json": 1}},
		"the log":                               {"logs", map[string]int{"logs": 1}},
		"the list of earlier containers":        {"", map[string]int{"list": 1}},
		"the outputs":                           {"wait", map[string]int{"outputs": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := newFaulty(t, c.broken)
			f.after = c.after
			var out strings.Builder
			o := e.Execute(t.Context(), faultyRequest(&out))
			if o.State != job.Succeeded || len(f.signals) > 0 || f.removed || out.Len() > 0 {
				t.Errorf("got %+v, signals %q, removed: %v, output %q", o, f.signals, f.removed, out.String())
			}
		})
	}
}

// TestAnEngineWithErrorsIsAskedWithPauses ends an attempt while the engine answers all calls with errors for a second.
func TestAnEngineWithErrorsIsAskedWithPauses(t *testing.T) {
	f, e := newFaulty(t, nil)
	f.after = "wait"
	ctx, cancel := context.WithCancelCause(t.Context())
	var begun time.Time
	f.seen = func(call string) {
		switch {
		case call == "wait" && begun.IsZero():
			begun = time.Now()
			f.broken = map[string]int{"wait": -1, "json": -1, "kill": -1}
			cancel(executor.ErrCanceled)
		case !begun.IsZero() && time.Since(begun) > time.Second:
			f.broken = nil
			f.running, f.exit = false, 137
		}
	}
	var out strings.Builder
	o := e.Execute(ctx, faultyRequest(&out))
	if o.State != job.Canceled || !f.removed {
		t.Errorf("got %+v, removed: %v", o, f.removed)
	}
	if n := f.count("kill"); n > 10 || strings.Count(out.String(), "SIGKILL") > 1 {
		t.Errorf("%d signals were sent, and the output is %.300q", n, out.String())
	}
}

// TestARemovalThatHangs lets the engine answer for ever that a removal is under way.
func TestARemovalThatHangs(t *testing.T) {
	f, e := newFaulty(t, nil)
	f.kept, e.patience = true, pollPause // longer than one call
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, absent := errors.AsType[absentError](e.removed(ctx, "c1")); !absent {
		t.Error("want the error of an engine that cannot tell: an attempt that waits for this has not begun")
	}
	if n := f.count("remove"); n < 2 {
		t.Errorf("%d removals", n)
	}
}

// TestTheRestOfTheOutputIsAskedForWithPauses lets the engine be gone after the end of a container.
func TestTheRestOfTheOutputIsAskedForWithPauses(t *testing.T) {
	var calls atomic.Int64
	e := withEngine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		if strings.HasSuffix(r.URL.Path, "/logs") {
			calls.Add(1)
			panic(http.ErrAbortHandler)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*pollPause)
	defer cancel()
	ended := make(chan struct{})
	close(ended)
	f := &follower{engine: e.engine, id: "c1", out: io.Discard}
	f.run(ctx, ended)
	if n := calls.Load(); n > 8 { // the HTTP client may repeat a call once
		t.Errorf("the engine was asked %d times", n)
	}
}

// TestAnExitAfterAnErrorOfTheEngine lets the engine answer one request to wait with an error. The program ends much later with a high
// code, which is its own.
func TestAnExitAfterAnErrorOfTheEngine(t *testing.T) {
	f, e := newFaulty(t, map[string]int{"wait": 1})
	f.after, f.exit = "start", 255
	if o := e.Execute(t.Context(), faultyRequest(io.Discard)); o.State != job.Failed || o.Reason != "exit code 255" {
		t.Errorf("got %+v, want the exit code of the program", o)
	}
}
