package cluster

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAWorkerUnderPressure lets other programs use the CPU of a worker that accepts little pressure. It takes no runs, says so and
// stays ready. A worker that accepts any pressure gets the run, as its first attempt.
func TestAWorkerUnderPressure(t *testing.T) {
	row(t)
	t.Parallel()
	c := Start(t, Config{
		Binary: binary, Replicas: 1, Flags: idle,
		Jobs: map[string]job.Spec{"work": {Shell: "true", Workers: map[string]string{"kind": "batch"}}},
	})
	w := c.AddWorker("w1", "--worker-labels=kind=batch", "--worker-pressure-cpu=20")
	startHogs(t, 4*runtime.NumCPU())
	Await(t, 2*time.Minute, "the worker is under pressure", func() bool { return w.Metric("rota_worker_pressure_high") == 1 })
	url := "--server=" + c.Replicas()[0].URL
	Await(t, 20*time.Second, "rota status names the worker", func() bool {
		out, _ := Command(t, binary, "status", url)
		return strings.Contains(out, "Worker w1 takes no runs since its machine reached CPU pressure ")
	})
	if out, _ := Command(t, binary, "workers", url); !strings.Contains(out, "pressure") {
		t.Errorf("rota workers prints:\n%s", out)
	}
	if out, code := Command(t, binary, "health", "--server="+w.URL); code != 0 {
		t.Errorf("the worker is not ready:\n%s", out)
	}
	submit(t, c, "work", api.RunRequest{})
	Let(5 * time.Second)
	if r := onlyRun(t, c, "work"); r.State != job.Pending || len(r.Attempts) != 0 {
		t.Errorf("the run is %s with %d attempts, want one that waits", r.State, len(r.Attempts))
	}
	c.AddWorker("w2", "--worker-labels=kind=batch")
	Await(t, time.Minute, "the other worker executes the run", func() bool { return onlyRun(t, c, "work").State == job.Succeeded })
	if r := onlyRun(t, c, "work"); r.Worker != "w2" || r.Attempt != 1 {
		t.Errorf("attempt %d was on %s, want the first, on w2", r.Attempt, r.Worker)
	}
}
