package kubernetes

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// forgetful deletes a Job at 10:00:00, but its answer may be lost. The API server learns then that the program ended well. The second
// deletion finds no Job.
type forgetful struct {
	streams
	answer    error
	deletions int
	finished  string
}

func (f *forgetful) Call(_ context.Context, method, path string, _, out any) error {
	text := `{}`
	switch {
	case method == http.MethodDelete:
		if f.deletions++; f.deletions == 1 {
			return f.answer
		}
		return &kubeapi.StatusError{Code: http.StatusNotFound}
	case f.deletions == 0 && strings.Contains(path, "/pods?"):
		text = `{"items":[{"status":{"phase":"Running"}}]}`
	case strings.Contains(path, "/pods?"):
		text = `{"items":[{"status":{"phase":"Succeeded","containerStatuses":[` +
			`{"name":"job","state":{"terminated":{"exitCode":0,"finishedAt":"2026-11-25T` + f.finished + `Z"}}}]}}]}`
	case f.deletions > 1:
		return &kubeapi.StatusError{Code: http.StatusNotFound}
	case f.deletions > 0:
		text = `{"metadata":{"deletionTimestamp":"2026-11-25T10:00:00Z"}}`
	}
	return json.Unmarshal([]byte(text), out)
}

// TestAnExitBeforeTheDeletion ends an attempt whose program exits with 0 after the signal to end, or before.
func TestAnExitBeforeTheDeletion(t *testing.T) {
	for _, answer := range []error{nil, io.ErrUnexpectedEOF} {
		for finished, want := range map[string]job.State{"10:00:01": job.TimedOut, "10:00:00": job.TimedOut, "09:59:59": job.Succeeded} {
			synctest.Test(t, func(t *testing.T) {
				req := executor.Request{Spec: job.Spec{Kubernetes: &job.Kubernetes{}}}
				api := &forgetful{streams: streams{""}, answer: answer, finished: finished}
				a := &attempt{api: api, req: &req, name: "b", namespace: "a", out: io.Discard, patience: t.Context()}
				output := a.newOutput()
				defer output.stop()
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(executor.ErrTimeout)
				if o := a.interrupted(ctx, output); o.State != want {
					t.Errorf("the program ended at %s, the deletion was answered by %v: got %+v, want %s", finished, answer, o, want)
				}
			})
		}
	}
}

// TestAnExitBeforeTheDeadlineOfAPod has a pod that began at 10:00:00, with a deadline of a minute. The kubelet sees the exit after
// the deadline.
func TestAnExitBeforeTheDeadlineOfAPod(t *testing.T) {
	for status, want := range map[string]job.State{
		`"exitCode":0,"finishedAt":"2026-11-25T10:00:59Z"`: job.Succeeded,
		`"exitCode":3,"finishedAt":"2026-11-25T10:00:59Z"`: job.Failed,
		`"exitCode":0,"finishedAt":"2026-11-25T10:01:00Z"`: job.TimedOut,
		`"exitCode":137`: job.TimedOut,
	} {
		p := new(pod)
		if err := json.Unmarshal([]byte(`{"spec":{"activeDeadlineSeconds":60},"status":{"phase":"Failed","reason":"DeadlineExceeded",`+
			`"startTime":"2026-11-25T10:00:00Z","containerStatuses":[{"name":"job","state":{"terminated":{`+status+`}}}]}}`), p); err != nil {
			t.Fatal(err)
		}
		o := judge(view{job: new(batchJob), pod: p}, "Job a/b", nil)
		if o == nil || o.State != want || strings.Contains(o.Reason, deadlineExceeded) {
			t.Errorf("%s: got %+v, want %s", status, o, want)
		}
	}
}
