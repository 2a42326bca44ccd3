package planner_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestIdleJobMemory bounds the memory of a job that is not due, without its definition. With a million jobs, 100 bytes are
// 100 MB.
func TestIdleJobMemory(t *testing.T) {
	const jobs, most = 20_000, 300 // bytes for each job
	list := make([]*job.Job, jobs)
	for i := range list {
		spec := job.Spec{Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Jitter: job.Duration(time.Hour)}
		list[i] = &job.Job{Name: fmt.Sprintf("job-%d", i), Generation: 1, Since: midnight, Spec: new(spec.WithDefaults()), Rev: int64(i + 1)}
	}
	before := heap()
	p := planner.New(planner.Config{})
	for _, j := range list {
		p.Apply(job.Change{Kind: job.RecordJob, Name: j.Name, Rev: j.Rev, Value: j}, midnight)
	}
	p.Plan(midnight, jobs) // as a follower
	p.Lead(midnight)
	if got := (heap() - before) / jobs; got > most {
		t.Errorf("a job takes %d bytes, want at most %d", got, most)
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(p)
}
