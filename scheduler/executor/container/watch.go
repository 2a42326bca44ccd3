package container

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// watch waits for the end of one container.
type watch struct {
	engine     *engine
	id         string
	engineLost bool // the engine was not reachable in between
	causeKnown bool // the worker itself ends the container
}

// lastInspect bounds the inspection after ctx has ended. It is shorter than executor.HurryGrace.
const lastInspect = 300 * time.Millisecond

// inspect also inspects a container if ctx has ended: if the program has exited by then, the exit decides.
func (w *watch) inspect(ctx context.Context) (state, error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastInspect)
		defer cancel()
	}
	return w.engine.inspect(ctx, w.id)
}

// causePause is how long the cause of a container's end by a signal may take to show.
const causePause = 2 * time.Second

// final returns s, the state of a container that has ended. If a signal ended it, final finds out why. A removal kills a container
// first: then the error has the status 404. An engine that stops kills its containers first, and then ends its connections.
func (w *watch) final(ctx context.Context, s state) (state, error) {
	killed := s.State.ExitCode == executor.ExitSignal+9 || s.State.ExitCode == executor.ExitSignal+15
	if !killed || w.causeKnown || w.engineLost || s.State.OOMKilled {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, causePause)
	broken := make(chan bool, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { broken <- w.engine.breaks(ctx) })
	for {
		again, err := w.engine.inspect(ctx, w.id)
		if hasStatus(err, http.StatusNotFound) || err == nil && (again.State.Status == "removing" || again.State.Status == "dead") {
			return state{}, &apiError{status: http.StatusNotFound, text: "container is removed"}
		}
		select {
		case w.engineLost = <-broken:
			return s, nil
		case <-time.After(pollPause):
		}
	}
}

// end returns the last state of the container after it has ended. It waits again if the engine restarts, or answers that it cannot
// tell. It returns an error with the status 404 if the container was removed, and the cause of ctx if that ends first.
func (w *watch) end(ctx context.Context) (state, error) {
	for {
		if err := w.engine.wait(ctx, w.id); err != nil && !refused(err) {
			w.engineLost = true
		}
		s, err := w.inspect(ctx)
		switch {
		case err == nil && !s.State.Running:
			return w.final(ctx, s)
		case err == nil:
			w.engineLost = false // the container has outlived it
		case ctx.Err() != nil:
			return state{}, context.Cause(ctx)
		case hasStatus(err, http.StatusNotFound):
			return state{}, err
		case !refused(err):
			w.engineLost = true
		}
		if err := sleep(ctx, pollPause); err != nil {
			return state{}, err
		}
	}
}
