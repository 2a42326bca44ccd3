package executor_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		code    int
		success []int
		want    job.State
		retry   bool
	}{
		"no list, exit code 0":      {0, nil, job.Succeeded, false},
		"no list, exit code 3":      {3, nil, job.Failed, true},
		"a listed code":             {3, []int{0, 3}, job.Succeeded, false},
		"exit code 0 is not listed": {0, []int{3}, job.Failed, true},
		"a code that is not listed": {3, []int{0, 4}, job.Failed, true},
		"a program that is missing": {127, nil, job.Failed, false},
		"a listed code of a shell":  {126, []int{126}, job.Succeeded, false},
	} {
		o := executor.ExitOutcome(c.code, c.success)
		if o.State != c.want || o.Retry != c.retry || *o.Exit != c.code || (o.Reason == "") != (c.want == job.Succeeded) {
			t.Errorf("%s: got %+v, want %s", name, o, c.want)
		}
	}
}
