package node

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (r *running) submitsOnceForAKey(t *testing.T) {
	r.put(t, "pay", job.Spec{Shell: `echo "$ROTA_PAYLOAD $ROTA_IDEMPOTENCY_KEY"`})
	r.put(t, "pay2", job.Spec{Shell: "true"})
	once := api.RunRequest{Key: "order-7", Payload: json.RawMessage(`{"n":1}`)}
	first := r.submit(t, "pay", once)
	again, created, err := r.Submit(t.Context(), "pay", once)
	if err != nil || created || again.Ref != first.Ref {
		t.Errorf("again: got %s %t %v, want %s once", again.Ref, created, err, first.Ref)
	}
	r.ends(t, first.Ref, job.Succeeded)
	if again := r.submit(t, "pay", once); again.Ref != first.Ref || again.State != job.Succeeded {
		t.Errorf("after its end: got %s %s", again.Ref, again.State)
	}
	if got := r.output(t, first.Ref, 1, true); got != "{\"n\":1} order-7\n" {
		t.Errorf("output: got %q", got)
	}
	if _, _, err := r.Submit(t.Context(), "pay", api.RunRequest{Key: "order-7", Payload: json.RawMessage(`{"n":2}`)}); status(err) != 422 {
		t.Errorf("other work: got %v, want 422", err)
	}
	if other := r.submit(t, "pay2", once); other.Ref == first.Ref {
		t.Errorf("another job: got the same run %s", other.Ref)
	}
}

func (r *running) cancelsADelayedRun(t *testing.T) {
	v := r.submit(t, "pay", api.RunRequest{In: "1h"})
	if v.State != job.Pending || v.Reason == "" {
		t.Errorf("got %s (%s), want pending for a reason", v.State, v.Reason)
	}
	if v, err := r.Cancel(t.Context(), v.Ref, "no more"); err != nil || v.State != job.Canceled || v.Reason != "no more" {
		t.Errorf("cancel: got %+v, %v", v, err)
	}
	if _, err := r.Cancel(t.Context(), v.Ref, ""); status(err) != 409 {
		t.Errorf("cancel again: got %v, want 409", err)
	}
}

func (r *running) killsARun(t *testing.T) {
	r.put(t, "slow", job.Spec{Shell: "echo begun; sleep 60"})
	v := r.submit(t, "slow", api.RunRequest{})
	r.reaches(t, v.Ref, job.Running)
	if _, err := r.Retry(t.Context(), v.Ref); status(err) != 409 {
		t.Errorf("retry while it runs: got %v, want 409", err)
	}
	out, err := r.Logs(t.Context(), v.Ref, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := r.Cancel(t.Context(), v.Ref, ""); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out); err != nil || !strings.HasPrefix(string(text), "begun\n") {
		t.Errorf("followed output: got %q, %v", text, err)
	}
	r.ends(t, v.Ref, job.Canceled)
}

func (r *running) retriesARun(t *testing.T) {
	r.put(t, "fails", job.Spec{Shell: "exit 3"})
	old := r.ends(t, r.submit(t, "fails", api.RunRequest{}).Ref, job.Failed)
	v, err := r.Retry(t.Context(), old.Ref)
	if err != nil || v.RetryOf != old.Ref || v.Ref == old.Ref {
		t.Errorf("got %+v, %v", v, err)
	}
	if v.State == job.Pending && v.Reason == "" {
		t.Error("it does not say why it waits")
	}
	r.ends(t, v.Ref, job.Failed)
}

func (r *running) runsACommand(t *testing.T) {
	v, _, err := r.SubmitCommand(t.Context(), api.AdHocRequest{Command: []string{"echo", "ad hoc"}})
	if err != nil {
		t.Fatal(err)
	}
	if v.State == job.Pending && v.Reason == "" {
		t.Error("it does not say why it waits")
	}
	r.ends(t, v.Ref, job.Succeeded)
	if got := r.output(t, v.Ref, 0, false); got != "ad hoc\n" {
		t.Errorf("output: got %q", got)
	}
	again, err := r.Retry(t.Context(), v.Ref)
	if err != nil {
		t.Fatal(err)
	}
	r.ends(t, again.Ref, job.Succeeded)
}

func (r *running) refusesALargePayload(t *testing.T) {
	large := api.RunRequest{Payload: json.RawMessage(`"` + strings.Repeat("x", job.MaxToldPayload-1) + `"`)}
	_, _, submitted := r.Submit(t.Context(), "pay", large)
	_, _, adHoc := r.SubmitCommand(t.Context(), api.AdHocRequest{Command: []string{"true"}, RunRequest: large})
	_, _, put := r.PutJob(t.Context(), "pay3", job.Spec{Shell: "true", Payload: large.Payload}, api.Precondition{})
	for what, err := range map[string]error{"submitted": submitted, "without a job": adHoc, "put": put} {
		if status(err) != 422 || !strings.Contains(err.Error(), "Linux takes no more") {
			t.Errorf("%s: got %v, want 422 and why", what, err)
		}
	}
}

func (r *running) hasNoOutput(t *testing.T) {
	v := r.submit(t, "pay", api.RunRequest{})
	r.ends(t, v.Ref, job.Succeeded)
	if _, err := r.Logs(t.Context(), v.Ref, 7, false); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("no such attempt: got %v, want ErrNotFound", err)
	}
	v = r.submit(t, "pay", api.RunRequest{In: "1h"})
	if _, err := r.Logs(t.Context(), v.Ref, 0, false); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("no attempt: got %v, want ErrNotFound", err)
	}
	if _, err := r.Logs(t.Context(), "pay/none", 0, true); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("no run: got %v, want ErrNotFound", err)
	}
}
