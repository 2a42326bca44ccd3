package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestHowARunEnds runs jobs that decide with success_codes, retry.on and start_within how their runs end. A webhook gets the body
// of its template. The counts of rota status and the metrics equal the runs.
func TestHowARunEnds(t *testing.T) {
	slow(t)
	t.Parallel()
	onSeven := func(max int) *job.Retry {
		return &job.Retry{Max: max, On: []job.RetryOn{"7"}, Min: job.Duration(10 * time.Millisecond)}
	}
	inbox := NewInbox(t)
	templated := inbox.NotifyOnce()
	ops := templated["inbox"]
	ops.Template = `{"about": {{ json .Job }}, "why": {{ json .Reason }}, "failures": {{ .Failures }}}`
	templated["inbox"] = ops
	c := Start(t, Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{
		"three":   {Shell: "exit 3", SuccessCodes: []int{0, 3}},
		"four":    {Shell: "exit 4", SuccessCodes: []int{0, 3}, Notify: templated},
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
		hour := v.Runs.Hour
		return err == nil && hour[job.Succeeded] == 2 && hour[job.Failed] == 2 && hour[job.Skipped] == 1 && v.Runs.Waiting == 1
	})
	if out, code := Command(t, binary, "status", "--server="+server); code != 7 || !strings.Contains(out, "1 waiting") {
		t.Errorf("rota status (exit code %d) prints:\n%s", code, out)
	}
	for metric, want := range map[string]float64{
		`rota_runs_ended{outcome="succeeded",window="hour"}`: 2, `rota_runs{state="waiting"}`: 1,
		`rota_job_consecutive_failures{job="four"}`: 1, `rota_job_consecutive_failures{job="three"}`: 0,
		`rota_job_skipped_total{job="waits",reason="waited"}`: 1,
	} {
		if got := c.Replicas()[0].Metric(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	last := c.Replicas()[0].Metric(`rota_job_last_success_timestamp_seconds{job="three"}`)
	if last < float64(time.Now().Add(-time.Hour).Unix()) {
		t.Errorf("the last success of three was at %v", last)
	}
	Await(t, 20*time.Second, "the webhook gets its body", func() bool { return len(inbox.Texts()) > 0 })
	if text := inbox.Texts()[0]; text != `{"about": "four", "why": "exit code 4", "failures": 1}` {
		t.Errorf("the webhook got %s", text)
	}
}
