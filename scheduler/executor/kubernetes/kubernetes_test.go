package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func request(out *bytes.Buffer) executor.Request {
	spec := job.Spec{Kubernetes: &job.Kubernetes{Image: "report:7"}, Env: map[string]string{"PRICE": "$5 $(HOME)"}}.WithDefaults()
	return executor.Request{
		Run:  job.Run{Job: "report", ID: "2026-11-21T02:30:00Z", Attempt: 1, Token: 42, Created: time.Unix(1, 0)},
		Spec: spec, Output: out,
	}
}

func TestAJobRunsToItsEnd(t *testing.T) {
	for code, want := range map[int]job.State{0: job.Succeeded, 3: job.Failed} {
		_, e := newServer(t, exited(code))
		var out bytes.Buffer
		o := e.Execute(t.Context(), request(&out))
		if o.State != want || o.Exit == nil || *o.Exit != code || out.String() != "hello\nworld\n" {
			t.Errorf("exit code %d: got %+v, output %q", code, o, out.String())
		}
	}
}

// TestAJobIsAdopted loses the worker of the first attempt. The second one must find the Job, whether it runs or has ended.
func TestAJobIsAdopted(t *testing.T) {
	for _, ended := range []bool{false, true} {
		s, e := newServer(t, running())
		var out bytes.Buffer
		first := request(&out)
		ctx, lose := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { lose(executor.ErrFenced) })
		if o := e.Execute(ctx, first); o.State != job.Lost || !strings.Contains(o.Reason, "continues") {
			t.Fatalf("first attempt: got %+v", o)
		}
		end := func() {
			s.set(func() {
				for _, p := range s.pods {
					p["status"] = exited(0)
				}
			})
		}
		if ended {
			end()
		} else {
			time.AfterFunc(time.Second, end)
		}
		out.Reset()
		second := request(&out)
		second.Run.Attempt, second.Run.Token = 2, 50
		second.Run.Attempts = []job.Attempt{{Number: 1, State: job.Lost, Token: 42}}
		second.Spec.Env = map[string]string{"X": "${env:ROTA_TEST_MISSING}"} // an existing Job needs no reference
		o := e.Execute(t.Context(), second)
		if o.State != job.Succeeded || s.created != 1 || !strings.Contains(out.String(), "of attempt 1, whose fencing token is 42") {
			t.Errorf("ended %v: got %+v after %d Jobs, output %q", ended, o, s.created, out.String())
		}
	}
}

func TestAFailedAttemptGetsANewJob(t *testing.T) {
	s, e := newServer(t, exited(1))
	var out bytes.Buffer
	e.Execute(t.Context(), request(&out))
	again := request(&out)
	again.Run.Attempt, again.Run.Attempts = 2, []job.Attempt{{Number: 1, State: job.Failed}}
	e.Execute(t.Context(), again)
	if s.created != 2 {
		t.Errorf("%d Jobs were created, want 2", s.created)
	}
}

func TestASecretIsNotInTheJob(t *testing.T) {
	t.Setenv("ROTA_TEST_TOKEN", "s3cret")
	s, e := newServer(t, exited(0))
	var out bytes.Buffer
	req := request(&out)
	req.Spec.Env["TOKEN"] = "Bearer ${env:ROTA_TEST_TOKEN}"
	if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
		t.Fatalf("got %+v", o)
	}
	jobs, _ := json.Marshal(s.jobs)
	secrets, _ := json.Marshal(s.secrets)
	if strings.Contains(string(jobs), "s3cret") || !strings.Contains(string(secrets), "Bearer s3cret") {
		t.Errorf("Jobs %s, Secrets %s", jobs, secrets)
	}
	if !strings.Contains(string(jobs), `"$$5 $$(HOME)"`) {
		t.Errorf("a dollar sign is not doubled: %s", jobs)
	}
}

// TestTheNodeEndsAPodThatIsLate expects the timeout, or a shorter deadline of the template, as the deadline of the pod. The deadline
// of the Job is later: otherwise Kubernetes deletes pods that ended in time while the API server was away.
func TestTheNodeEndsAPodThatIsLate(t *testing.T) {
	for template, want := range map[string]string{"": "90", `{"spec":{"activeDeadlineSeconds":30}}`: "30", `{"spec":{"activeDeadlineSeconds":91}}`: "90"} {
		s, e := newServer(t, exited(0))
		req := request(new(bytes.Buffer))
		req.Spec.Timeout, req.Spec.Kubernetes.Template = job.Duration(90*time.Second), json.RawMessage(template)
		e.Execute(t.Context(), req)
		for _, j := range s.jobs {
			spec := j["spec"].(map[string]any)
			pod := spec["template"].(map[string]any)["spec"].(map[string]any)["activeDeadlineSeconds"]
			if fmt.Sprint(pod) != want || spec["activeDeadlineSeconds"].(float64) != 3690 {
				t.Errorf("template %q: the deadline of the pod is %v, that of the Job %v", template, pod, spec["activeDeadlineSeconds"])
			}
		}
	}
}

func TestACanceledJobIsDeleted(t *testing.T) {
	for _, cause := range []error{executor.ErrCanceled, executor.ErrTimeout} {
		s, e := newServer(t, running())
		var out bytes.Buffer
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		o := e.Execute(ctx, request(&out))
		if o.State == job.Lost || o.State == job.Succeeded || len(s.jobs) != 0 || s.created != 1 {
			t.Errorf("%v: got %+v, and %d Jobs", cause, o, len(s.jobs))
		}
	}
}

// TestAnEndThatTheAPIServerCannotTellDecides lets the program end just before the timeout, while the API server is away for three
// calls.
func TestAnEndThatTheAPIServerCannotTellDecides(t *testing.T) {
	s, e := newServer(t, running())
	var out bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	s.seen = func(call string) {
		switch {
		case strings.HasSuffix(call, "/log"):
		case s.away:
			calls++
			s.away = calls <= 3
		case strings.HasSuffix(call, "/pods") && calls == 0:
			s.away = true
			for _, p := range s.pods {
				p["status"] = exited(0)
			}
			cancel(executor.ErrTimeout)
		}
	}
	if o := e.Execute(ctx, request(&out)); o.State != job.Succeeded || calls <= 3 {
		t.Errorf("got %+v after %d calls, want the exit of the program", o, calls)
	}
}

func TestAnAPIServerThatIsAwayChangesNothing(t *testing.T) {
	s, e := newServer(t, running())
	var out bytes.Buffer
	time.AfterFunc(time.Second, func() { s.set(func() { s.away = true }) })
	time.AfterFunc(3*time.Second, func() {
		s.set(func() {
			s.away = false
			for _, p := range s.pods {
				p["status"] = exited(0)
			}
		})
	})
	o := e.Execute(t.Context(), request(&out))
	if o.State != job.Succeeded || s.created != 1 || !strings.Contains(out.String(), "the attempt waits") {
		t.Errorf("got %+v after %d Jobs, output %q", o, s.created, out.String())
	}
	if n := strings.Count(out.String(), "hello"); n != 1 {
		t.Errorf("the output has each line %d times, want once: %q", n, out.String())
	}
}

// TestAJobThatIsResumedHasTheOutputOfBothPods suspends a Job, which deletes its pod, and resumes it, which makes another one.
func TestAJobThatIsResumedHasTheOutputOfBothPods(t *testing.T) {
	s, e := newServer(t, running())
	var out bytes.Buffer
	reads := 0
	s.seen = func(call string) {
		for _, p := range s.pods {
			switch {
			case strings.HasSuffix(call, "/next/log"):
				p["status"] = exited(0)
			case strings.HasSuffix(call, "/log"):
				if reads++; reads == 2 { // the first read is complete
					p["metadata"] = map[string]any{"name": "next"}
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := e.Execute(ctx, request(&out))
	if n := strings.Count(out.String(), "hello"); o.State != job.Succeeded || n != 2 || !strings.Contains(out.String(), "in pod next") {
		t.Errorf("got %+v, output %q, want that of both pods", o, out.String())
	}
}

func TestReasonsNameTheTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		state  map[string]any
		change func(s *server, req *executor.Request)
		want   string
		retry  bool
	}{
		"an image that cannot be pulled": {
			waiting("ImagePullBackOff", "no such host"), nil, "pod did not start within 1s: image report:7 cannot be pulled: ImagePullBackOff: no such host", true,
		},
		"an image of an init container": {map[string]any{"phase": "Pending", "initContainerStatuses": []any{map[string]any{
			"name": "setup", "image": "setup:7", "state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": "no such host"}},
		}}, "containerStatuses": waiting("PodInitializing", "")["containerStatuses"]}, nil, "image setup:7 cannot be pulled: ImagePullBackOff", true},
		"an init container that fails": {map[string]any{"phase": "Failed", "initContainerStatuses": []any{map[string]any{
			"name": "setup", "state": map[string]any{"terminated": map[string]any{"exitCode": 3}},
		}}, "containerStatuses": waiting("PodInitializing", "")["containerStatuses"]}, nil, "ended as Failed: init container setup: exit code 3", true},
		"an image that is never there": {waiting("ErrImageNeverPull", ""), nil, "image report:7 cannot be pulled: ErrImageNeverPull", true},
		"no node": {map[string]any{"phase": "Pending", "conditions": []any{map[string]any{
			"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available",
		}}}, nil, "no node takes the pod: 0/1 nodes are available", true},
		"no namespace":    {nil, func(_ *server, r *executor.Request) { r.Spec.Kubernetes.Namespace = "absent" }, "namespace absent does not exist", true},
		"not a namespace": {nil, func(_ *server, r *executor.Request) { r.Spec.Kubernetes.Namespace = "kube-system" }, "namespace kube-system is not in worker.kubernetes.namespaces", false},
		"deleted by hand": {running(), func(s *server, _ *executor.Request) {
			time.AfterFunc(time.Second, func() { s.set(func() { clear(s.jobs); clear(s.pods) }) })
		}, "was deleted before it ended", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newServer(t, c.state)
			var out bytes.Buffer
			req := request(&out)
			req.Spec.Kubernetes.StartTimeout = job.Duration(time.Second)
			if c.change != nil {
				c.change(s, &req)
			}
			o := e.Execute(t.Context(), req)
			if o.State != job.Failed || o.Retry != c.retry || !strings.Contains(o.Reason, c.want) {
				t.Errorf("got %+v, want a reason with %q", o, c.want)
			}
		})
	}
}
