package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// answers is an API server without Jobs. It answers each method with one error; nil: an empty object.
type answers map[string]error

func (a answers) Call(_ context.Context, method, _ string, _, _ any) error { return a[method] }

func (a answers) Stream(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("no log")
}

var (
	errRefused = errors.New("dial tcp 10.0.0.1:443: connect: connection refused")
	overloaded = &kubeapi.StatusError{Code: http.StatusServiceUnavailable, Message: "etcdserver: no leader"}
	noJob      = &kubeapi.StatusError{Code: http.StatusNotFound, Message: "no such Job"}
)

// TestAnAPIServerThatIsAwayConcernsItsKindAlone asks a server that does not answer, or cannot tell. No Job can be there.
func TestAnAPIServerThatIsAwayConcernsItsKindAlone(t *testing.T) {
	for name, silence := range map[string]error{"no answer": errRefused, "only errors": overloaded} {
		for _, attempts := range [][]job.Attempt{nil, {{Number: 1, State: job.Lost, Reason: "no answer, " + job.NotBegun}}} {
			synctest.Test(t, func(t *testing.T) {
				e := kubernetes.New(kubernetes.Config{API: answers{"GET": silence}, Namespaces: []string{"jobs-ns"}}, time.Now)
				var out bytes.Buffer
				req := request(&out)
				req.Run.Attempt, req.Run.Attempts = len(attempts)+1, attempts
				ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, executor.ErrTimeout)
				defer cancel()
				o := e.Execute(ctx, req)
				if o.State != job.Lost || !o.NotBegun || !o.KindAway || !strings.Contains(o.Reason, silence.Error()) {
					t.Errorf("%s, attempt %d: got %+v, want one that did not begin", name, req.Run.Attempt, o)
				}
				if e.Check(t.Context()) == nil {
					t.Errorf("%s: the check says that the API server answers", name)
				}
			})
		}
	}
}

// TestAnEarlierJobKeepsTheAttempt lets the server be silent while the Job of an earlier attempt may be there.
func TestAnEarlierJobKeepsTheAttempt(t *testing.T) {
	for _, earlier := range []job.State{job.Failed, job.Lost, job.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			e := kubernetes.New(kubernetes.Config{API: answers{"GET": errRefused}, Namespaces: []string{"jobs-ns"}}, time.Now)
			req := request(&bytes.Buffer{})
			req.Run.Attempt, req.Run.Attempts = 2, []job.Attempt{{Number: 1, State: earlier, Reason: "worker w2 was lost"}}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, executor.ErrTimeout)
			defer cancel()
			if o := e.Execute(ctx, req); o.State != job.Lost || o.NotBegun || o.KindAway || ctx.Err() == nil {
				t.Errorf("after %s: got %+v, want an attempt that waits to its timeout", earlier, o)
			}
		})
	}
}

// TestAJobThatMayExistKeepsItsAttempt lets the server fall silent when the attempt creates its Job.
func TestAJobThatMayExistKeepsItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := kubernetes.New(kubernetes.Config{API: answers{"GET": noJob, "POST": errRefused}, Namespaces: []string{"jobs-ns"}}, time.Now)
		var out bytes.Buffer
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, executor.ErrTimeout)
		defer cancel()
		if o := e.Execute(ctx, request(&out)); o.State != job.TimedOut || o.NotBegun || o.KindAway {
			t.Errorf("got %+v, want an attempt that waits to its timeout", o)
		}
	})
}

func TestTheCheckAsksWhetherTheAPIServerAnswers(t *testing.T) {
	for _, c := range []struct {
		answer error
		ok     bool
	}{
		{nil, true},
		{noJob, true},
		{&kubeapi.StatusError{Code: http.StatusForbidden}, true},
		{&kubeapi.StatusError{Code: http.StatusUnauthorized}, true},
		{overloaded, false},
		{errRefused, false},
	} {
		e := kubernetes.New(kubernetes.Config{API: answers{"GET": c.answer}, Namespaces: []string{"jobs-ns"}}, time.Now)
		if err := e.Check(t.Context()); (err == nil) != c.ok {
			t.Errorf("%v: the check says %v", c.answer, err)
		}
	}
}

// TestAWorkerWithoutDescriptorsTakesNothing lets the process be unable to connect.
func TestAWorkerWithoutDescriptorsTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := errors.Join(errors.New("dial tcp 10.0.0.1:443"), syscall.EMFILE)
		e := kubernetes.New(kubernetes.Config{API: answers{"GET": short}, Namespaces: []string{"jobs-ns"}}, time.Now)
		var out bytes.Buffer
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, executor.ErrTimeout)
		defer cancel()
		if o := e.Execute(ctx, request(&out)); !o.NotBegun || o.KindAway {
			t.Errorf("got %+v, want an attempt that concerns the whole worker", o)
		}
	})
}

// TestAnEarlierJobThatEndsSlowlyIsAwaited lets the API server answer while the Job of the attempt is being deleted.
func TestAnEarlierJobThatEndsSlowlyIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := answers{"GET": nil, "POST": &kubeapi.StatusError{Code: http.StatusForbidden, Message: "over quota"}}
		e := kubernetes.New(kubernetes.Config{API: deleting{api, time.Now().Add(time.Minute)}, Namespaces: []string{"jobs-ns"}}, time.Now)
		var out bytes.Buffer
		if o := e.Execute(t.Context(), request(&out)); o.State != job.Failed || !strings.Contains(o.Reason, "over quota") {
			t.Errorf("got %+v, want the answer to the creation", o)
		}
	})
}

// deleting is an API server with a Job that is being deleted until a time.
type deleting struct {
	answers
	until time.Time
}

func (d deleting) Call(ctx context.Context, method, path string, in, out any) error {
	if method != http.MethodGet {
		return d.answers.Call(ctx, method, path, in, out)
	}
	if !time.Now().Before(d.until) {
		return noJob
	}
	return json.Unmarshal([]byte(`{"metadata":{"deletionTimestamp":"2026-11-21T02:30:00Z"}}`), out)
}
