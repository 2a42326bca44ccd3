package job_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// An attempt continues the Job of Kubernetes of a lost attempt, also in the record after its end. It replaces that of a failed one.
func TestPodJob(t *testing.T) {
	run := job.Run{Job: "a-name-with-more-than-thirty-bytes-in-it", ID: "1", Attempt: 1}
	first := run.PodJob()
	if want := "a-name-with-more-than-thirty-b-" + run.PodHash() + "-0"; first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	run.Attempts = []job.Attempt{{Number: 1, State: job.Lost}}
	if got := run.PodJob(); got != first {
		t.Errorf("the lost attempt itself: got %s, want %s", got, first)
	}
	run.Attempt = 2
	if got := run.PodJob(); got != first {
		t.Errorf("after a lost attempt: got %s, want %s", got, first)
	}
	run.Attempts[0].State = job.Failed
	if got := run.PodJob(); got == first {
		t.Errorf("after a failed attempt: got the same name %s", got)
	}
}
