package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestHowARunEnds runs jobs that decide with success_codes, retry.on and start_within how their runs end. The counts of rota status
// and the metrics equal the runs.
func TestHowARunEnds(t *testing.T) {
	slow(t)
	t.Parallel()
	onSeven := func(max int) *job.Retry {
		return &job.Retry{Max: max, On: []job.RetryOn{"7"}, Min: job.Duration(10 * time.Millisecond)}
	}
	c := Start(t, Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{
		"three":   {Shell: "exit 3", SuccessCodes: []int{0, 3}},
		"four":    {Shell: "exit 4", SuccessCodes: []int{0, 3}},
		"retried": {Shell: `test "$ROTA_ATTEMPT" = 3 || exit 7`, Retry: onSeven(3)},
		"once":    {Shell: "exit 8", Retry: onSeven(3)},
		"waits":   {Shell: "true", StartWithin: job.Duration(time.Second), Workers: map[string]string{"zone": "moon"}},
		"later":   {Shell: "true", Workers: map[string]string{"zone": "moon"}},
	}})
	server := c.Replicas()[0].URL
	for name, want := range map[string]struct {
		state    job.State
		attempts int
		reason   string
	}{
		"three": {job.Succeeded, 1, ""}, "four": {job.Failed, 1, "exit code 4"}, "retried": {job.Succeeded, 3, ""},
		"once": {job.Failed, 1, "exit code 8"}, "waits": {job.Skipped, 0, "waited longer than 1s"},
	} {
		submit(t, c, name, api.RunRequest{})
		Await(t, 20*time.Second, "the run of "+name+" ends", func() bool { return onlyState(c, name).Terminal() })
		if r := onlyRun(t, c, name); r.State != want.state || r.Attempt != want.attempts || r.Reason != want.reason {
			t.Errorf("%s: got %s after %d attempts (%s), want %+v", name, r.State, r.Attempt, r.Reason, want)
		}
	}
	submit(t, c, "later", api.RunRequest{})
	Await(t, 20*time.Second, "the counts are those of the runs", func() bool {
		v, err := c.Client.Cluster(t.Context())
		return err == nil && v.Runs.Hour[job.Succeeded] == 2 && v.Runs.Hour[job.Failed] == 2 && v.Runs.Hour[job.Skipped] == 1 && v.Runs.Waiting == 1
	})
	if out, code := Command(t, binary, "status", "--server="+server); code != 7 || !strings.Contains(out, "1 waiting") {
		t.Errorf("rota status (exit code %d) prints:\n%s", code, out)
	}
	if n := c.Replicas()[0].Metric(`rota_runs_ended{outcome="succeeded",window="hour"}`); n != 2 {
		t.Errorf("the metric has %v runs that succeeded, want 2", n)
	}
}
