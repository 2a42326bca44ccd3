package kubernetes_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAPodWithoutItsJobIsAdopted deletes the Job of a lost attempt, but not its pod, as kubectl delete job --cascade=orphan does. The
// pod ends by itself, also while the attempt is canceled: nobody can delete it then.
func TestAPodWithoutItsJobIsAdopted(t *testing.T) {
	for _, c := range []struct {
		call  string // the pod ends at the third one
		cause error
		want  job.State
	}{{"GET /api/v1/namespaces/jobs-ns/pods", nil, job.Succeeded}, {"DELETE /apis/batch/v1/namespaces/jobs-ns/jobs/", executor.ErrCanceled, job.Succeeded}} {
		s, e := newServer(t, running())
		var out bytes.Buffer
		ctx, lose := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { lose(executor.ErrFenced) })
		e.Execute(ctx, request(&out))
		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		s.set(func() {
			clear(s.jobs)
			s.seen = func(call string) {
				if strings.HasSuffix(call, "/log") && c.cause != nil {
					cancel(c.cause)
				}
				if strings.HasPrefix(call, c.call) && !strings.HasSuffix(call, "/log") {
					calls++
				}
				if calls == 3 {
					for _, p := range s.pods {
						p["status"] = exited(0)
					}
				}
			}
		})
		again := request(&out)
		again.Run.Attempt, again.Run.Attempts = 2, []job.Attempt{{Number: 1, State: job.Lost}}
		o := e.Execute(ctx, again)
		if o.State != c.want || s.count() != 1 || calls < 3 || !strings.Contains(out.String(), "whose Job jobs-ns/") {
			t.Errorf("got %+v after %d Jobs and %d calls, output %q", o, s.count(), calls, out.String())
		}
	}
}

// TestAPodWithoutItsJobHasNoOtherBesideIt deletes the Job of an attempt that was given up, but not its pod. The next attempt waits
// for the end of the pod, which comes at its third look.
func TestAPodWithoutItsJobHasNoOtherBesideIt(t *testing.T) {
	s, e := newServer(t, running())
	var out bytes.Buffer
	ctx, lose := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { lose(executor.ErrFenced) })
	e.Execute(ctx, request(&out))
	looks := 0
	s.set(func() {
		clear(s.jobs)
		s.seen = func(call string) {
			switch {
			case strings.HasPrefix(call, "POST") && looks < 3:
				t.Error("a second pod begins beside the first one")
			case strings.HasSuffix(call, "/pods"):
				if looks++; looks == 3 {
					for _, p := range s.pods {
						p["status"] = exited(0)
					}
					s.state = exited(0)
				}
			}
		}
	})
	again := request(&out)
	again.Run.Attempt, again.Run.Attempts = 2, []job.Attempt{{Number: 1, State: job.TimedOut}}
	if o := e.Execute(t.Context(), again); o.State != job.Succeeded || s.count() != 2 || !strings.Contains(out.String(), "of an earlier attempt has not ended") {
		t.Errorf("got %+v after %d Jobs, output %q", o, s.count(), out.String())
	}
}
