package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// TestAnExitAfterTheDeadlineOfAJob lets a program exit with 0. Its pod is deleted at 10:00:00, with a grace of 30 s.
func TestAnExitAfterTheDeadlineOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		finished, conditions string
		want                 job.State
	}{
		"after the signal": {"10:00:02", `{"type":"Failed","status":"True","reason":"DeadlineExceeded"}`, job.TimedOut},
		"after the signal, and the Job is about to fail": {
			"10:00:02", `{"type":"FailureTarget","status":"True","reason":"DeadlineExceeded"}`, job.TimedOut,
		},
		"before the signal":                       {"09:59:59", `{"type":"Failed","status":"True","reason":"DeadlineExceeded"}`, job.Succeeded},
		"after a deletion for another reason":     {"10:00:02", `{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}`, job.Succeeded},
		"after a deletion that the Job outlived":  {"10:00:02", `{"type":"FailureTarget","status":"False"}`, job.Succeeded},
		"after a deletion that the Job completed": {"10:00:02", `{"type":"Complete","status":"True"}`, job.Succeeded},
	} {
		v := view{job: new(batchJob), pod: new(pod)}
		for text, into := range map[string]any{
			`{"status":{"conditions":[` + c.conditions + `]}}`: v.job,
			`{"metadata":{"deletionTimestamp":"2026-11-25T10:00:30Z","deletionGracePeriodSeconds":30},"status":{"phase":"Succeeded",` +
				`"containerStatuses":[{"name":"job","state":{"terminated":{"exitCode":0,"finishedAt":"2026-11-25T` + c.finished + `Z"}}}]}}`: v.pod,
		} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if o := judge(v, "Job a/b", nil); o == nil || o.State != c.want {
			t.Errorf("%s: got %+v, want %s", name, o, c.want)
		}
	}
}

// missing is an API without objects.
type missing struct{ streams }

func (*missing) Call(context.Context, string, string, any, any) error {
	return &kubeapi.StatusError{Code: http.StatusNotFound}
}

// TestAJobWithoutADescriptorHasNotBegun lets the worker have no descriptor for the file of a reference.
func TestAJobWithoutADescriptorHasNotBegun(t *testing.T) {
	for _, shortage := range []error{syscall.EMFILE, syscall.ENFILE} {
		req := executor.Request{Spec: job.Spec{Kubernetes: &job.Kubernetes{}}}
		a := &attempt{api: &missing{}, req: &req, name: "b", namespace: "a", out: io.Discard}
		o := a.execute(t.Context(), nil, nil, fmt.Errorf("read ${file:/a}: %w", shortage))
		if o.State != job.Lost || !o.NotBegun || !o.Retry {
			t.Errorf("%v: got %+v", shortage, o)
		}
	}
}

// TestAnExitCodeThatANodeMakesUp lets a node restart while a pod runs. containerd reports 255 then, and the kubelet 137.
func TestAnExitCodeThatANodeMakesUp(t *testing.T) {
	for reason, code := range map[string]int{"Unknown": 255, "ContainerStatusUnknown": 137} {
		p := new(pod)
		text := fmt.Sprintf(`{"metadata":{"name":"p"},"status":{"phase":"Failed","containerStatuses":[{"name":"job",`+
			`"state":{"terminated":{"exitCode":%d,"reason":%q}}}]}}`, code, reason)
		if err := json.Unmarshal([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		o := judge(view{job: new(batchJob), pod: p}, "Job a/b", nil)
		if o == nil || o.State != job.Failed || o.Exit != nil || !o.Retry || !strings.Contains(o.Reason, "does not know the exit code") {
			t.Errorf("%s: got %+v, want a failure without an exit code", reason, o)
		}
	}
}
