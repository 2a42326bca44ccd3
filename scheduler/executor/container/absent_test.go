package container

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAStartedContainerIsFollowed lets the engine answer only errors after a start, for longer than an attempt waits for an engine
// before its start.
func TestAStartedContainerIsFollowed(t *testing.T) {
	for name, broken := range map[string]map[string]int{
		"which was answered":         {"json": -1, "wait": -1},
		"which was not answered":     {"json": -1, "wait": -1, "start": 1},
		"and its outputs for longer": {"outputs": -1},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := newFaulty(t, broken)
			e.patience = 50 * time.Millisecond
			notes := -broken["outputs"]
			var begun time.Time
			f.seen = func(call string) {
				switch {
				case call == "start":
					begun, f.running = time.Now(), true
				case !begun.IsZero() && time.Since(begun) > time.Duration(20+40*notes)*e.patience:
					f.broken = nil
				}
			}
			var out strings.Builder
			ctx, req := t.Context(), faultyRequest(&out)
			if notes > 0 { // the program has no more heartbeats to give
				beating, beat, stop := executor.WithHeartbeat(ctx, 40*e.patience)
				defer stop()
				ctx, req.Beat = beating, beat
			}
			if o := e.Execute(ctx, req); o.State != job.Succeeded || f.removed || f.count("start") != 1 {
				t.Errorf("got %+v, removed: %v, starts: %d", o, f.removed, f.count("start"))
			}
			if waits := strings.Count(out.String(), "the attempt waits: $ROTA_OUTPUT"); waits != notes {
				t.Errorf("the output says %d times that the attempt waits for outputs: %q", waits, out.String())
			}
		})
	}
}

// TestAnExitBeforeTheSignalDecides lets a container end by itself just before its timeout, and one inspection fail.
func TestAnExitBeforeTheSignalDecides(t *testing.T) {
	f, e := newFaulty(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	f.seen = func(call string) {
		if call == "wait" && f.calls["wait"] == 1 {
			f.broken = map[string]int{"json": 1}
			cancel(executor.ErrTimeout)
		}
	}
	if o := e.Execute(ctx, faultyRequest(io.Discard)); o.State != job.Succeeded || len(f.signals) > 0 {
		t.Errorf("got %+v, signals %q, want the exit of the program", o, f.signals)
	}
}

// TestAnExitAfterARestartOfTheEngine lets the engine be away while the container goes on. The program ends much later with a high
// code, which is its own.
func TestAnExitAfterARestartOfTheEngine(t *testing.T) {
	for name, broken := range map[string]map[string]int{"in its middle": {"wait": 1}, "at its start": {"start": 1}} {
		f, e := newFaulty(t, broken)
		f.status, f.exit = -1, 255
		f.seen = func(call string) { f.running = f.running || call == "start" }
		if o := e.Execute(t.Context(), faultyRequest(io.Discard)); o.State != job.Failed || o.Reason != "exit code 255" {
			t.Errorf("%s: got %+v, want the exit code of the program", name, o)
		}
	}
}

// TestAGatewayBeforeTheEngine lets a proxy before the engine be without an engine for a while.
func TestAGatewayBeforeTheEngine(t *testing.T) {
	f, e := newFaulty(t, map[string]int{"logs": 2})
	f.status = http.StatusServiceUnavailable
	var out strings.Builder
	if o := e.Execute(t.Context(), faultyRequest(&out)); o.State != job.Succeeded || out.Len() > 0 || f.count("logs") != 3 {
		t.Errorf("got %+v, output %q, %d calls", o, out.String(), f.count("logs"))
	}
}

// TestOutputWithoutItsEndSaysSo lets the engine never give the end of the output.
func TestOutputWithoutItsEndSaysSo(t *testing.T) {
	t.Parallel()
	f, e := newFaulty(t, map[string]int{"logs": -1})
	f.status = http.StatusServiceUnavailable
	var out strings.Builder
	o := e.Execute(t.Context(), faultyRequest(&out))
	if o.State != job.Succeeded || !strings.Contains(out.String(), "within 5s: context deadline exceeded]") {
		t.Errorf("got %+v, output %q", o, out.String())
	}
}

// TestAnotherVersionOfTheEngine puts an older engine into the place of one that was asked before, and then a newer one.
func TestAnotherVersionOfTheEngine(t *testing.T) {
	version, bodies := "1.44", []string{}
	e := withEngine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", version)
		if path := r.URL.Path; path != "/_ping" && !strings.HasPrefix(path, "/v"+version+"/") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"message":"client version 1.x is not supported"}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		_, _ = io.WriteString(w, `{"Id":"c1"}`)
	})
	for _, version = range []string{"1.44", "1.41", "1.43"} {
		if id, err := e.engine.create(t.Context(), "x", &creation{Image: "pay"}); err != nil || id != "c1" {
			t.Errorf("version %s: got %q, %v", version, id, err)
		}
	}
	if last := bodies[len(bodies)-1]; !strings.Contains(last, "pay") {
		t.Errorf("the body of the call that was sent again is %q", last)
	}
}
