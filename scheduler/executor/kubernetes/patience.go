package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// silentLimit is how long an attempt waits for an API server that does not say whether the Job exists, if no Job of its run can be
// there. Then the attempt has not begun, and the worker accepts no runs of the kind kubernetes until the API server answers. The
// run may as well wait without a place. A run whose Job may be there needs an attempt, which a request to cancel it reaches.
const silentLimit = time.Second

// rightsLimit is how long an attempt waits for an API server that does not accept its account. A server that has just started
// refuses everybody until it has read the rights, and a file with a token may be about to be replaced.
const rightsLimit = 30 * time.Second

// refusal is a definite answer that there will be no Job.
type refusal struct {
	text  string
	final bool          // another attempt is refused too
	wait  time.Duration // the answer is definite after this time, if it stays the same
}

func (e *refusal) Error() string { return e.text }

// absentError says that the API server did not answer for silentLimit, or could not tell.
type absentError struct{ error }

// first reports whether no earlier attempt of the run began, so that there is no Job of it.
func (a *attempt) first() bool {
	return !a.req.Run.HasBegun()
}

// Check returns nil if the API server says whether a Job exists, or refuses to say.
func (e *Executor) Check(ctx context.Context) error {
	a := &attempt{api: e.cfg.API, req: &executor.Request{}}
	if len(e.cfg.Namespaces) > 0 {
		a.namespace = e.cfg.Namespaces[0]
	}
	err := a.call(ctx, http.MethodGet, a.jobs()+"/rota-check", nil, nil)
	if err != nil && a.refused(err) != nil {
		return nil
	}
	return err
}

// persist calls do until it succeeds, the API server refuses it, or ctx ends. It does not repeat a call after ErrNotFound, and
// returns that error unchanged. It returns an absentError if the API server does not answer before the Job is located.
func (a *attempt) persist(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	var since time.Time // of the refusals; zero: the last answer was none
	for wait := firstPoll; ; wait = min(2*wait, lastPoll) {
		err := do(ctx)
		if err == nil {
			a.answered()
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var passing *refusal
		refused := a.refused(err)
		switch {
		case refused == nil:
			since = time.Time{}
			if !a.located && a.first() && time.Since(began) > silentLimit {
				return absentError{err}
			}
		case since.IsZero():
			since = time.Now()
		}
		if refused != nil && (!errors.As(refused, &passing) || time.Since(since) >= passing.wait) {
			return refused
		}
		a.unanswered(err)
		sleep(ctx, wait)
	}
}

// refused returns err if it is a definite answer; nil if the request is worth another try.
func (a *attempt) refused(err error) error {
	var refused *refusal
	var status *kubeapi.StatusError
	switch {
	case errors.As(err, &refused):
		return err
	case !errors.As(err, &status):
		return nil
	}
	text := fmt.Sprintf("namespace %s: %s", a.namespace, status.Message)
	switch status.Code {
	case http.StatusNotFound:
		return status
	case http.StatusUnauthorized:
		return &refusal{text: "the API server does not accept the credentials of this worker: " + status.Message, wait: rightsLimit}
	case http.StatusForbidden:
		wait := rightsLimit
		if strings.Contains(text, "exceeded quota") { // until other Jobs are gone
			wait = max(wait, a.startTimeout())
		}
		return &refusal{text: "the API server forbids it: " + text, wait: wait}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return &refusal{text: "the API server refuses the Job: " + text, final: true}
	}
	return nil
}

// reportLimit is how long after an outage of the API server a kubelet may take to report that a pod has ended: it tries each ten
// seconds.
const reportLimit = 15 * time.Second

// call calls the API server, and remembers when it last gave no answer.
func (a *attempt) call(ctx context.Context, method, path string, in, out any) error {
	began := time.Now()
	err := a.api.Call(ctx, method, path, in, out)
	var status *kubeapi.StatusError
	switch answered := errors.As(err, &status) && status.Code < http.StatusInternalServerError; {
	case err == nil, answered:
	case ctx.Err() == nil, time.Since(began) > silentLimit: // otherwise the end of ctx interrupted the call
		a.silent = time.Now()
	}
	return err
}

// unreported reports whether the pod may have ended, although the API server does not know it yet.
func (a *attempt) unreported(v view) bool {
	return v.pod != nil && !v.pod.over() && time.Since(a.silent) < reportLimit
}

// unanswered notes once that the attempt waits, and answered that it continues.
func (a *attempt) unanswered(err error) {
	if !a.waiting {
		a.waiting = true
		a.note("the attempt waits: %v", err)
	}
}

func (a *attempt) answered() {
	if a.waiting {
		a.waiting = false
		a.note("the attempt continues")
	}
}
