package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// forgetful deletes a Job at 10:00:00, but its answer may be lost. The API server learns then how the program ended, but shows it to
// watches alone if the kubelet removes the pod. The second deletion finds no Job.
type forgetful struct {
	answer    error
	deletions atomic.Int32
	phase     string
	code      int
	finished  string
	removed   bool
}

// end is the pod whose program has ended.
func (f *forgetful) end() string {
	return fmt.Sprintf(`{"metadata":{"deletionTimestamp":"2026-11-25T10:00:30Z","deletionGracePeriodSeconds":30},"status":{"phase":%q,`+
		`"containerStatuses":[{"name":"job","state":{"terminated":{"exitCode":%d,"finishedAt":"2026-11-25T%sZ"}}}]}}`, f.phase, f.code, f.finished)
}

// Stream is the log of the pod, or a watch, which is refused if the pod stays.
func (f *forgetful) Stream(_ context.Context, path string) (io.ReadCloser, error) {
	text := ""
	switch watch := strings.Contains(path, "watch=true"); {
	case watch && !f.removed:
		return nil, &kubeapi.StatusError{Code: http.StatusForbidden}
	case watch && f.deletions.Load() == 0:
		text = `{"type":"ADDED","object":{"status":{"phase":"Running"}}}`
	case watch:
		text = `{"type":"DELETED","object":` + f.end() + `}{"type":"BOOKMARK","object":{}}`
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (f *forgetful) Call(_ context.Context, method, path string, _, out any) error {
	text := `{}`
	switch {
	case method == http.MethodDelete:
		if f.deletions.Add(1) == 1 {
			return f.answer
		}
		return &kubeapi.StatusError{Code: http.StatusNotFound}
	case f.deletions.Load() == 0 && strings.Contains(path, "/pods?"):
		text = `{"items":[{"status":{"phase":"Running"}}]}`
	case strings.Contains(path, "/pods?") && !f.removed:
		text = `{"items":[` + f.end() + `]}`
	case strings.Contains(path, "/pods?"):
	case f.deletions.Load() > 1:
		return &kubeapi.StatusError{Code: http.StatusNotFound}
	case f.deletions.Load() > 0:
		text = `{"metadata":{"deletionTimestamp":"2026-11-25T10:00:00Z"}}`
	}
	return json.Unmarshal([]byte(text), out)
}

// TestAnExitBeforeTheDeletion ends an attempt whose program exits after the signal to end, or before. The API server may show that in
// no look, because the kubelet removes the pod at once.
func TestAnExitBeforeTheDeletion(t *testing.T) {
	for _, removed := range []bool{false, true} {
		for _, answer := range []error{nil, io.ErrUnexpectedEOF} {
			for _, c := range []struct {
				finished, phase string
				code            int
				want            job.State
			}{
				{"10:00:01", "Succeeded", 0, job.TimedOut},
				{"10:00:00", "Succeeded", 0, job.TimedOut},
				{"09:59:57", "Succeeded", 0, job.Succeeded},
				{"10:00:01", "Failed", 3, job.TimedOut},
				{"09:59:59", "Failed", 3, job.TimedOut},  // the clock of the node may be behind
				{"09:59:57", "Failed", 3, job.Succeeded}, // it is in success_codes
				{"09:59:57", "Failed", 4, job.Failed},
			} {
				synctest.Test(t, func(t *testing.T) {
					req := executor.Request{Spec: job.Spec{Kubernetes: &job.Kubernetes{}, SuccessCodes: []int{0, 3}}}
					api := &forgetful{answer: answer, phase: c.phase, code: c.code, finished: c.finished, removed: removed}
					a := &attempt{api: api, req: &req, name: "b", namespace: "a", out: io.Discard, patience: t.Context()}
					output := a.newOutput()
					defer output.stop()
					ctx, cancel := context.WithCancelCause(t.Context())
					cancel(executor.ErrTimeout)
					if o := a.interrupted(ctx, output); o.State != c.want {
						t.Errorf("removed %v, exit code %d at %s, the deletion was answered by %v: got %+v, want %s",
							removed, c.code, c.finished, answer, o, c.want)
					}
				})
			}
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
