package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// scripted is an API server with one Job at most, whose pod ends at a time. During outages it answers with errors.
type scripted struct {
	exists  bool
	ends    time.Time
	outages []outage
	posted  int
	deleted bool
}

// outage is a time in which a method has an error as its answer; "": all methods.
type outage struct {
	method   string
	from, to time.Time
	err      error
}

func (s *scripted) Call(_ context.Context, method, path string, _, out any) error {
	for _, o := range s.outages {
		if now := time.Now(); (o.method == "" || o.method == method) && !now.Before(o.from) && now.Before(o.to) {
			return o.err
		}
	}
	text := "{}"
	switch {
	case method == http.MethodPost:
		s.exists = true
		s.posted++
	case strings.Contains(path, "/pods?") && s.exists:
		text = `{"items":[{"metadata":{"name":"p"},"status":{"phase":"Running","containerStatuses":[{"name":"job","state":{"running":{}}}]}}]}`
		if !time.Now().Before(s.ends) {
			text = `{"items":[{"metadata":{"name":"p"},"status":{"phase":"Succeeded","containerStatuses":[{"name":"job","state":{"terminated":{}}}]}}]}`
		}
	case strings.Contains(path, "/pods?"):
	case !s.exists:
		return noJob
	case method == http.MethodDelete:
		s.exists, s.deleted = false, true
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal([]byte(text), out)
}

func (s *scripted) Stream(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

func (s *scripted) executor() *kubernetes.Executor {
	return kubernetes.New(kubernetes.Config{API: s, Namespaces: []string{"jobs-ns"}}, time.Now)
}

// silent is an outage that begins after a time and ends after another one.
func silent(from, to time.Duration) outage {
	return outage{from: time.Now().Add(from), to: time.Now().Add(to), err: errRefused}
}

// second returns the attempt after one that was lost.
func second(out *bytes.Buffer) executor.Request {
	req := request(out)
	req.Run.Attempt, req.Run.Attempts = 2, []job.Attempt{{Number: 1, State: job.Lost, Reason: "worker w2 was lost"}}
	return req
}

var (
	stranger  = &kubeapi.StatusError{Code: http.StatusUnauthorized, Message: "Unauthorized"}
	forbidden = &kubeapi.StatusError{Code: http.StatusForbidden, Message: "jobs.batch is forbidden: RBAC"}
	overQuota = &kubeapi.StatusError{Code: http.StatusForbidden, Message: "jobs.batch is forbidden: exceeded quota: jobs"}
)

// TestAServerThatStartsDoesNotFailItsAttempts lets a server be silent, and then refuse everybody while it reads the rights. The Job
// of a lost attempt exists.
func TestAServerThatStartsDoesNotFailItsAttempts(t *testing.T) {
	for _, refusal := range []error{stranger, forbidden} {
		synctest.Test(t, func(t *testing.T) {
			starts := silent(0, 50*time.Second)
			s := &scripted{exists: true, outages: []outage{starts, {from: starts.to, to: starts.to.Add(10 * time.Second), err: refusal}}}
			if o := s.executor().Execute(t.Context(), second(&bytes.Buffer{})); o.State != job.Succeeded || s.posted != 0 {
				t.Errorf("%v: got %+v after %d new Jobs, want the end of the Job that exists", refusal, o, s.posted)
			}
		})
	}
}

// TestARefusalThatLastsFails has a server that never accepts an account, and a quota that is exhausted.
func TestARefusalThatLastsFails(t *testing.T) {
	for _, c := range []struct {
		method string
		answer error
		want   string
		after  time.Duration
	}{
		{"GET", stranger, "does not accept the credentials of this worker", 30 * time.Second},
		{"GET", forbidden, "namespace jobs-ns: jobs.batch is forbidden", 30 * time.Second},
		{"POST", overQuota, "exceeded quota", 5 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := &scripted{outages: []outage{{c.method, began, began.Add(time.Hour), c.answer}}}
			o := s.executor().Execute(t.Context(), request(&bytes.Buffer{}))
			took := time.Since(began)
			if o.State != job.Failed || !o.Retry || o.KindAway || !strings.Contains(o.Reason, c.want) || took < c.after || took > c.after+3*time.Second {
				t.Errorf("%v: got %+v after %v, want a failure after %v", c.answer, o, took, c.after)
			}
		})
	}
}

// TestAQuotaIsAwaited exhausts the quota of a namespace for two minutes.
func TestAQuotaIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{outages: []outage{{"POST", time.Now(), time.Now().Add(2 * time.Minute), overQuota}}}
		var out bytes.Buffer
		o := s.executor().Execute(t.Context(), request(&out))
		if o.State != job.Succeeded || s.posted != 1 || !strings.Contains(out.String(), "exceeded quota") {
			t.Errorf("got %+v after %d Jobs, output %q", o, s.posted, out.String())
		}
	})
}

// TestATimeoutInAnOutageLeavesTheJob lets the pod end well while the server is silent for longer than the timeout. The next attempt
// finds the Job. With at_most_once there is none, so that the attempt decides.
func TestATimeoutInAnOutageLeavesTheJob(t *testing.T) {
	for delivery, want := range map[job.Delivery]job.State{job.AtLeastOnce: job.Lost, job.AtMostOnce: job.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{ends: time.Now().Add(30 * time.Second), outages: []outage{silent(20*time.Second, time.Hour)}}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, executor.ErrTimeout)
			defer cancel()
			req := request(&bytes.Buffer{})
			req.Spec.Delivery = delivery
			o := s.executor().Execute(ctx, req)
			if o.State != want || o.NotBegun || !o.Retry || !strings.Contains(o.Reason, "may continue") || s.deleted {
				t.Errorf("%s: got %+v, deleted %v, want %s", delivery, o, s.deleted, want)
			}
			if want == job.Lost && job.CostsWorker(o.Reason) {
				t.Errorf("after a few timeouts in one outage, the run would end as lost: %q", o.Reason)
			}
			s.outages = nil
			if o := s.executor().Execute(t.Context(), second(&bytes.Buffer{})); o.State != job.Succeeded || s.posted != 1 {
				t.Errorf("%s, the next attempt: got %+v after %d Jobs", delivery, o, s.posted)
			}
		})
	}
}

// TestAJobThatEndedInAnOutageKeepsItsOutcome ends an attempt while the server is silent, or just after it. The pod ended during the
// outage, which the server knows at once or later: the kubelet reports it.
func TestAJobThatEndedInAnOutageKeepsItsOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		over  time.Duration // when the attempt ends
		cause error
		known time.Duration // when the server knows the end of the pod
	}{
		"canceled in the outage":                {over: 29 * time.Second, cause: executor.ErrCanceled, known: 30 * time.Second},
		"canceled in the outage, reported late": {over: 29 * time.Second, cause: executor.ErrCanceled, known: 59 * time.Second},
		"canceled after it, reported late":      {over: 50 * time.Second, cause: executor.ErrCanceled, known: 59 * time.Second},
		"timed out after it, reported late":     {over: 50 * time.Second, cause: executor.ErrTimeout, known: 59 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{ends: time.Now().Add(c.known), outages: []outage{silent(28*time.Second, 49*time.Second)}}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				defer time.AfterFunc(c.over, func() { cancel(c.cause) }).Stop()
				if o := s.executor().Execute(ctx, request(&bytes.Buffer{})); o.State != job.Succeeded || s.deleted {
					t.Errorf("got %+v, deleted %v, want the exit of the program", o, s.deleted)
				}
			})
		})
	}
}

// TestACanceledJobIsDeletedInTheEnd cancels a run at 30 s, or loses it to another worker. Its program goes on. Only an outage shortly
// before delays the deletion, while the kubelet may report an end.
func TestACanceledJobIsDeletedInTheEnd(t *testing.T) {
	blips := func() (list []outage) {
		for at := 10 * time.Second; at < 2*time.Minute; at += 10 * time.Second {
			list = append(list, silent(at, at+2*time.Second))
		}
		return list
	}
	for name, c := range map[string]struct {
		outages         func() []outage
		cause           error
		soonest, latest float64 // in seconds
		delivery        job.Delivery
	}{
		"no outage":       {nil, executor.ErrCanceled, 30, 31, ""},
		"long ago":        {func() []outage { return []outage{silent(2*time.Second, 12*time.Second)} }, executor.ErrCanceled, 30, 31, ""},
		"shortly before":  {func() []outage { return []outage{silent(20*time.Second, 28*time.Second)} }, executor.ErrCanceled, 40, 45, ""},
		"meanwhile":       {func() []outage { return []outage{silent(28*time.Second, 65*time.Second)} }, executor.ErrCanceled, 65, 81, ""},
		"again and again": {blips, executor.ErrCanceled, 45, 81, ""},
		"lost":            {func() []outage { return []outage{silent(20*time.Second, 28*time.Second)} }, executor.ErrFenced, 30, 32, job.AtMostOnce},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{ends: time.Now().Add(time.Hour)}
				if c.outages != nil {
					s.outages = c.outages()
				}
				ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, c.cause)
				defer cancel()
				req := request(&bytes.Buffer{})
				req.Spec.Delivery = c.delivery
				began := time.Now()
				o := s.executor().Execute(ctx, req)
				if took := time.Since(began).Seconds(); !s.deleted || took < c.soonest || took > c.latest {
					t.Errorf("got %+v after %v s, deleted %v", o, took, s.deleted)
				}
			})
		})
	}
}

// TestAJobThatSomebodySuspendsStaysSuspended has a controller that suspends new Jobs until there is room, such as Kueue.
func TestAJobThatSomebodySuspendsStaysSuspended(t *testing.T) {
	s, e := newServer(t, running())
	s.suspend = true
	req := request(&bytes.Buffer{})
	req.Spec.Kubernetes.StartTimeout = job.Duration(time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if o := e.Execute(ctx, req); o.State != job.Failed || !strings.HasSuffix(o.Reason, "its Job is suspended") {
		t.Errorf("got %+v", o)
	}
}

// TestTheDeadlineOfAPodIsATimeout has a deadline in the template. The program exits with 0 after the signal to end.
func TestTheDeadlineOfAPodIsATimeout(t *testing.T) {
	state := exited(0)
	state["phase"], state["reason"] = "Failed", "DeadlineExceeded"
	_, e := newServer(t, state)
	if o := e.Execute(t.Context(), request(&bytes.Buffer{})); o.State != job.TimedOut || !o.Retry {
		t.Errorf("got %+v", o)
	}
}

// TestAJobThatIsAboutToEndIsAwaited adopts a Job whose pod is gone. Kubernetes records its end only after the start timeout.
func TestAJobThatIsAboutToEndIsAwaited(t *testing.T) {
	s, e := newServer(t, nil)
	req := second(&bytes.Buffer{})
	req.Spec.Kubernetes.StartTimeout = job.Duration(time.Second)
	condition := func(kind string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": "DeadlineExceeded"}
	}
	name := req.Run.PodJob()
	s.jobs[name] = map[string]any{"metadata": map[string]any{"name": name}, "status": map[string]any{"conditions": []any{condition("FailureTarget")}}}
	defer time.AfterFunc(3*time.Second, func() {
		s.set(func() { s.jobs[name]["status"] = map[string]any{"conditions": []any{condition("Failed")}} })
	}).Stop()
	if o := e.Execute(t.Context(), req); o.State != job.TimedOut || s.left() != 1 {
		t.Errorf("got %+v, and %d Jobs", o, s.left())
	}
}
