package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnEngineThatIsAwayConcernsItsKindAlone asks an engine that is not there, and one that answers only errors.
func TestAnEngineThatIsAwayConcernsItsKindAlone(t *testing.T) {
	_, silent := newFaulty(t, nil)
	silent.engine = newEngine(t.TempDir() + "/engine.sock")
	_, failing := newFaulty(t, map[string]int{"list": -1})
	for name, e := range map[string]*Executor{"none": silent, "one with errors": failing} {
		e.patience = 50 * time.Millisecond
		o := e.Execute(t.Context(), faultyRequest(io.Discard))
		if o.State != job.Lost || !o.NotBegun || !o.KindAway {
			t.Errorf("%s: got %+v, want an attempt that did not begin because its kind is away", name, o)
		}
		if e.Check(t.Context()) == nil {
			t.Errorf("%s: the check says that it answers", name)
		}
	}
	refusing, e := newFaulty(t, map[string]int{"list": -1})
	refusing.status = http.StatusForbidden
	if err := e.Check(t.Context()); err != nil {
		t.Errorf("an engine that refuses: got %v, want that it answers", err)
	}
	for _, short := range []error{syscall.EMFILE, syscall.ENFILE} {
		o := failure(fmt.Errorf("list: %w", absentError{fmt.Errorf("dial unix: %w", short)}))
		if !o.NotBegun || o.KindAway {
			t.Errorf("%v: got %+v, want an attempt that concerns the whole worker", short, o)
		}
	}
}

// TestAnAbsentEngineTakesAPlaceForAMoment gives an attempt 2 s to find out that no engine is there.
func TestAnAbsentEngineTakesAPlaceForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{Socket: "/nonexistent/engine.sock"}, time.Now)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, executor.ErrTimeout)
		defer cancel()
		if o := e.Execute(ctx, faultyRequest(io.Discard)); !o.NotBegun || !o.KindAway {
			t.Errorf("got %+v, want an attempt that did not begin because its kind is away", o)
		}
	})
}

// TestPatienceBeforeTheFirstAnswer compares runs with and without a container that may be on the engine.
func TestPatienceBeforeTheFirstAnswer(t *testing.T) {
	e := &Executor{patience: engineLimit}
	notBegun := executor.KindAway(errors.New("no such file or directory")).Reason
	for name, c := range map[string]struct {
		attempts []job.Attempt
		want     time.Duration
	}{
		"the first":                      {nil, silentLimit},
		"after one that did not begin":   {[]job.Attempt{{State: job.Lost, Reason: notBegun}}, silentLimit},
		"after one that failed":          {[]job.Attempt{{State: job.Failed}}, silentLimit},
		"after one whose worker is lost": {[]job.Attempt{{State: job.Lost, Reason: "worker q1 was lost"}}, engineLimit},
	} {
		if got := e.firstPatience(&job.Run{Attempts: c.attempts}); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
