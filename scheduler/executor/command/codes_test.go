package command

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestSuccessCodes(t *testing.T) {
	code := func(n int) *int { return &n }
	failed := job.Outcome{State: job.Failed, Exit: code(3), Reason: "exit code 3", Retry: true}
	fine := job.Outcome{State: job.Succeeded, Exit: code(0)}
	killed := job.Outcome{State: job.Failed, Exit: code(137), Reason: "killed by SIGKILL", Retry: true}
	lost := job.Outcome{State: job.Failed, Reason: "exit status is unknown", Retry: true}
	for name, c := range map[string]struct {
		o       job.Outcome
		success []int
		want    job.State
	}{
		"no list, exit code 0":       {fine, nil, job.Succeeded},
		"no list, exit code 3":       {failed, nil, job.Failed},
		"a listed code":              {failed, []int{0, 3}, job.Succeeded},
		"exit code 0 is not listed":  {fine, []int{3}, job.Failed},
		"a code that is not listed":  {failed, []int{0, 4}, job.Failed},
		"a signal is never success":  {killed, []int{0, 137}, job.Failed},
		"an unknown status is not 0": {lost, []int{0}, job.Failed},
	} {
		if got := withCodes(c.o, c.success); got.State != c.want || got.State == job.Succeeded && (got.Reason != "" || got.Retry) {
			t.Errorf("%s: got %+v, want %s", name, got, c.want)
		}
	}
}
