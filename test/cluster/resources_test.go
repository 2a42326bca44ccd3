package cluster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
	"github.com/rota-scheduler/rota/test/lacking"
)

// TestMemoryHog runs jobs that use memory without end on a worker with other jobs. Their limit kills them, again at each retry,
// without an effect on the other jobs. A worker that is killed meanwhile leaves no cgroup behind.
func TestMemoryHog(t *testing.T) {
	row(t)
	tree, why := cgroups.Open()
	limits := tree.Controllers()
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(limits, cgroups.Memory) {
		lacking.Report(t, "needs cgroups: %v", why)
	}
	t.Parallel()
	ledger := NewLedger(t)
	second := job.Duration(time.Second)
	c := Start(t, Config{Binary: binary, Replicas: 1, Flags: idle, Jobs: map[string]job.Spec{
		"hog": {
			Shell:     ledger.Shell("exec tail /dev/zero"),
			Resources: &job.Resources{Memory: 32 << 20},
			Retry:     &job.Retry{Max: 2, Min: second, MaxDelay: second, Jitter: job.JitterNone},
		},
		"endless": {Shell: ledger.Shell("sleep 1000"), Resources: &job.Resources{Memory: 32 << 20}, Delivery: job.AtMostOnce},
		"modest":  {Every: second, Missed: job.MissedAll, Shell: ledger.Shell(""), Resources: &job.Resources{Memory: 32 << 20, PIDs: 20}},
		"tick":    {Every: second, Missed: job.MissedAll, Shell: ledger.Shell("")},
	}})
	w := c.AddWorker("w1")
	pid := w.PID()
	submit(t, c, "hog", api.RunRequest{})
	Await(t, 60*time.Second, "the hog is given up", func() bool { return onlyRun(t, c, "hog").State == job.Failed })
	hog := onlyRun(t, c, "hog")
	if len(hog.Attempts) != 3 || !strings.HasPrefix(hog.Reason, "killed: out of memory (limit 32MiB)") {
		t.Errorf("the hog has %d attempts and ended since %q, want 3, and its limit as the reason", len(hog.Attempts), hog.Reason)
	}
	for _, a := range hog.Attempts {
		if !strings.HasPrefix(a.Reason, "killed: out of memory (limit 32MiB)") {
			t.Errorf("attempt %d ended since %q", a.Number, a.Reason)
		}
	}
	if w.PID() != pid || !w.Running() || w.Metric("rota_worker_sessions_lost_total") > 0 {
		t.Errorf("the worker is process %d, was %d, and lost %v sessions", w.PID(), pid, w.Metric("rota_worker_sessions_lost_total"))
	}
	for _, name := range []string{"modest", "tick"} {
		ran := len(c.Recorder.Runs(name))
		Await(t, 20*time.Second, name+" continues", func() bool { return len(c.Recorder.Runs(name)) > ran+2 })
	}

	submit(t, c, "endless", api.RunRequest{})
	Await(t, 20*time.Second, "the endless one has a cgroup", func() bool { return len(groupsOf(t, "endless")) > 0 })
	w.Kill()
	Await(t, 20*time.Second, "its cgroup is gone", func() bool { return len(groupsOf(t, "endless")) == 0 })
	w.Start()
	Await(t, 30*time.Second, "it is lost", func() bool { return onlyRun(t, c, "endless").State == job.Lost })
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = j.Name == "hog" || j.Name == "endless" })
}

// groupsOf lists the cgroups of a job's attempts in all hierarchies.
func groupsOf(t *testing.T, name string) (found []string) {
	t.Helper()
	below := "rota-attempts-*/" + name + ".*"
	for range 8 { // the deepest nesting of a worker in a unit or a container
		dirs, err := filepath.Glob("/sys/fs/cgroup/" + below)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, dirs...)
		below = "*/" + below
	}
	return found
}
