package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// outcome returns the outcome of a container that has ended by itself. engineLost says that the engine was away in between.
func outcome(req *executor.Request, s *state, engineLost bool) job.Outcome {
	code := s.State.ExitCode
	o := executor.ExitOutcome(code, req.Spec.SuccessCodes)
	limit := ""
	if r := req.Spec.Resources; r != nil && r.Memory > 0 {
		limit = fmt.Sprintf(" (limit %v)", r.Memory)
	}
	switch {
	case o.State == job.Succeeded:
	case s.State.OOMKilled:
		o.Retry, o.Reason = true, "killed: out of memory"+limit
	case engineLost && code >= executor.ExitSignal:
		o.State, o.Retry = job.Lost, true
		o.Reason = fmt.Sprintf("container ended when Docker's engine stopped (exit code %d)", code)
	case code > executor.ExitSignal && code <= executor.ExitSignal+64:
		o.Reason = fmt.Sprintf("exit code %d: killed by signal %d", code, code-executor.ExitSignal)
		if code == executor.ExitSignal+9 && limit != "" { // with cgroup v1, a busy engine can miss the lack of memory
			o.Reason += ", perhaps for lack of memory" + limit
		}
	}
	return o
}

// startError is the engine's refusal to start a container.
type startError struct{ error }

func (e *startError) Error() string { return "start container: " + e.error.Error() }
func (e *startError) Unwrap() error { return e.error }

// failure returns the outcome of an attempt whose container could not be started.
func failure(err error) job.Outcome {
	start, asked := errors.AsType[*startError](err)
	if absent, ok := errors.AsType[absentError](err); ok && !asked {
		return executor.KindAway(absent.error)
	}
	if asked {
		if _, pending := errors.AsType[absentError](start.error); pending { // the container may begin later
			return job.Outcome{State: job.Lost, Reason: start.Error(), Retry: true}
		}
	}
	o := job.Outcome{State: job.Failed, Reason: err.Error(), Retry: true}
	if asked {
		code := 0
		switch text := err.Error(); {
		case strings.Contains(text, "executable file not found"), strings.Contains(text, "no such file or directory"):
			code = executor.ExitNotFound
		case strings.Contains(text, "permission denied"):
			code = executor.ExitCannotExec
		default:
			return o
		}
		o.Exit, o.Retry = &code, false
	}
	return o
}

// stop ends a container: by SIGTERM, and by SIGKILL if it runs after the job's grace, or soon after another worker may execute the
// run. It returns when the container has ended, however long the engine needs, and says how it ended. The new name comes first:
// if this process dies now, no later attempt takes the exit for a result. ours is false if a later attempt has given the container
// its own name: this worker was paused for longer than its lease. Then stop does nothing. exited is the last state of a program
// that had exited before the signal: its exit decides. Otherwise exited is nil. If the engine did not answer the signal, the time
// of the exit decides: an engine on another machine needs a clock that is about right.
func (e *Executor) stop(
	ctx context.Context, req *executor.Request, c *state, out io.Writer,
) (how string, ours bool, exited *state) {
	latest := ""
	note := func(doing string, err error) { // a repeated error is written once
		if err == nil || hasStatus(err, http.StatusConflict) || hasStatus(err, http.StatusNotFound) {
			return
		}
		if text := fmt.Sprintf("\n[rota: %s: %v]\n", doing, err); text != latest {
			latest = text
			_, _ = io.WriteString(out, text)
		}
	}
	err := e.engine.rename(ctx, c.Name, c.Name+endedSuffix)
	if hasStatus(err, http.StatusNotFound) {
		return ", and its container went on in a later attempt or was removed", false, nil
	}
	note("rename container", err)
	told := time.Now()
	sent := e.engine.kill(ctx, c.ID, "SIGTERM")
	note("send SIGTERM", sent)
	itself := func(s *state) bool {
		unanswered := sent != nil && !refused(unsure(sent)) && !s.State.FinishedAt.IsZero() && s.State.FinishedAt.Before(told)
		return s.State.ExitCode < executor.ExitSignal && (unanswered || hasStatus(sent, http.StatusConflict))
	}

	grace, cancel := context.WithTimeout(ctx, req.Spec.KillGrace.Std())
	defer cancel()
	hurried := make(chan struct{})
	defer inHurry(req.Hurry, func() { close(hurried); cancel() })()
	w := &watch{engine: e.engine, id: c.ID, causeKnown: true}
	last, err := w.end(grace)
	switch {
	case err == nil && itself(&last):
		e.renameBack(ctx, c)
		return "", true, &last
	case err == nil, hasStatus(err, http.StatusNotFound):
		return ", ended by SIGTERM", true, nil
	}
	for {
		note("send SIGKILL", e.engine.kill(ctx, c.ID, "SIGKILL"))
		again, cancel := context.WithTimeout(ctx, callTimeout)
		last, err := w.end(again)
		cancel()
		if err == nil && itself(&last) {
			e.renameBack(ctx, c)
			return "", true, &last
		}
		if err == nil || hasStatus(err, http.StatusNotFound) {
			break
		}
	}
	select {
	case <-hurried:
		return ", killed by SIGKILL before others may repeat it", true, nil
	default:
		return fmt.Sprintf(", killed by SIGKILL after %v of grace", req.Spec.KillGrace), true, nil
	}
}

// renameBack gives a container that had ended by itself its first name again. If its outputs cannot be read now, the next attempt
// adopts it.
func (e *Executor) renameBack(ctx context.Context, c *state) {
	ctx, cancel := context.WithTimeout(ctx, outputsGrace)
	defer cancel()
	_ = e.patiently(ctx, func() error { return unsure(e.engine.rename(ctx, c.Name+endedSuffix, c.Name)) })
}

// inHurry calls f when hurry is closed and executor.HurryGrace has passed, unless stop is called before. stop waits for f.
func inHurry(hurry <-chan struct{}, f func()) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		select {
		case <-hurry:
		case <-done:
			return
		}
		select {
		case <-time.After(executor.HurryGrace):
			f()
		case <-done:
		}
	})
	return func() { close(done); wg.Wait() }
}

// abandon ends an attempt that was interrupted while its container was made, with outcome o. If asked is true, the container may
// run or have ended, and abandon waits for the engine as stop does. A container that began is followed: stop gives it its grace,
// and an exit that came before decides.
func (e *Executor) abandon(ctx context.Context, req *executor.Request, o job.Outcome, asked bool, out io.Writer) job.Outcome {
	always, name := context.WithoutCancel(ctx), nameOf(e.cfg.Cluster, &req.Run)
	for latest := ""; ; {
		var s state
		var err error
		if asked {
			if s, err = e.engine.inspect(always, name); err == nil && s.began() {
				return e.follow(ctx, req, &s, out)
			}
		}
		doing := "remove"
		if err == nil || refused(unsure(err)) {
			err = e.removed(always, name)
		} else {
			doing, err = "inspect", absentError{err}
			_ = sleep(always, pollPause)
		}
		if err != nil && doing != latest {
			latest = doing
			fmt.Fprintf(out, "\n[rota: %s container: %v]\n", doing, err)
		}
		if _, absent := errors.AsType[absentError](err); !absent || !asked {
			return o
		}
	}
}

// removed removes a container if it exists. It kills it first. It waits for a removal that is under way, and for an engine that
// cannot tell, for at most e.patience: the engine can hang in a removal for ever.
func (e *Executor) removed(ctx context.Context, id string) error {
	return e.patiently(ctx, func() error {
		err := e.engine.remove(ctx, id)
		if hasStatus(err, http.StatusConflict) {
			return errors.New(err.Error())
		}
		return unsure(err)
	})
}
