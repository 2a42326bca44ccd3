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

// BenchmarkPlan decides, commits and resolves 1000 due slots, with 1,000 to 1,000,000 further jobs that are not due. The time
// for a slot must not depend on the number of these jobs. B/job is the memory of a job.
func BenchmarkPlan(b *testing.B) {
	for _, jobs := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) { benchmarkPlan(b, jobs) })
	}
}

func benchmarkPlan(b *testing.B, jobs int) {
	const due = 1000
	before := heap()
	p := planner.New(planner.Config{})
	now := midnight
	apply := func(c job.Change) { p.Apply(c, now) }
	for i := range jobs {
		spec := job.Spec{Every: job.Duration(365 * 24 * time.Hour), Command: []string{"true"}}
		if i < due {
			spec.Every = job.Duration(time.Minute)
		}
		j := &job.Job{Name: fmt.Sprintf("job-%d", i), Generation: 1, Since: now, Spec: new(spec.WithDefaults()), Rev: int64(i + 1)}
		apply(job.Change{Kind: job.RecordJob, Name: j.Name, Rev: j.Rev, Value: j})
	}
	rev := int64(jobs + 1)
	w := &job.Worker{Name: "w", Session: "s", Capacity: 2 * due, Rev: rev}
	apply(job.Change{Kind: job.RecordWorker, Name: "w", Rev: rev, Value: w})
	p.Plan(now, due) // as a follower
	p.Lead(now)
	cost := heap() - before

	slots := 0
	for b.Loop() {
		now = now.Add(time.Minute)
		for {
			ds := p.Plan(now, 512)
			if len(ds) == 0 {
				break
			}
			for _, d := range ds {
				rev++
				p.Resolve(d, job.Applied{Rev: rev}, now)
			}
			rev++
			for _, d := range ds { // each ends at once, and its record is removed
				if d.Run == nil || d.Run.State != job.Armed {
					continue
				}
				slots++
				r := *d.Run
				r.State, r.Started, r.Finished, r.Rev = job.Succeeded, now, now, rev
				apply(job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: rev, Value: &r})
				apply(job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: rev + 1})
			}
			rev++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(slots), "ns/slot")
	b.ReportMetric(float64(cost)/float64(jobs), "B/job")
	runtime.KeepAlive(p)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
