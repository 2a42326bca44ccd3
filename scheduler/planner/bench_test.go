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
	const jobs, most = 20_000, 190 // bytes for each job
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
	before := heap()
	l := newEveryMinute(jobs)
	cost := heap() - before
	b.ReportAllocs()
	slots := 0
	for b.Loop() {
		slots += l.minute()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(slots), "ns/slot")
	b.ReportMetric(float64(cost)/float64(jobs), "B/job")
	runtime.KeepAlive(l)
}

// TestAllocationsOfASlot bounds the allocations of a slot, from its decision to the removal of its run. Each costs processor time
// twice: once to make it, and once to collect it.
func TestAllocationsOfASlot(t *testing.T) {
	const most = 8.5
	l := newEveryMinute(due)
	for range 5 {
		l.minute()
	}
	if got := testing.AllocsPerRun(10, func() { l.minute() }) / due; got > most {
		t.Errorf("%.1f allocations, want at most %.1f", got, most)
	}
}

// everyMinute is a planner of many jobs. The first of them are due each minute.
type everyMinute struct {
	*planner.Planner
	now time.Time
	rev int64
}

// due is how many jobs of an everyMinute are due each minute.
const due = 1000

func newEveryMinute(jobs int) *everyMinute {
	l := &everyMinute{Planner: planner.New(planner.Config{}), now: midnight, rev: int64(jobs + 1)}
	for i := range jobs {
		spec := job.Spec{Every: job.Duration(365 * 24 * time.Hour), Command: []string{"true"}}
		if i < due {
			spec.Every = job.Duration(time.Minute)
		}
		j := &job.Job{Name: fmt.Sprintf("job-%d", i), Generation: 1, Since: l.now, Spec: new(spec.WithDefaults()), Rev: int64(i + 1)}
		l.Apply(job.Change{Kind: job.RecordJob, Name: j.Name, Rev: j.Rev, Value: j}, l.now)
	}
	w := &job.Worker{Name: "w", Session: "s", Capacity: 2 * due, Rev: l.rev}
	l.Apply(job.Change{Kind: job.RecordWorker, Name: "w", Rev: l.rev, Value: w}, l.now)
	l.Plan(l.now, due) // as a follower
	l.Lead(l.now)
	return l
}

// minute decides the slots of the next minute. Their runs end at once, and their records are removed. It returns their number.
func (l *everyMinute) minute() (slots int) {
	l.now = l.now.Add(time.Minute)
	for {
		ds := l.Plan(l.now, 512)
		if len(ds) == 0 {
			return slots
		}
		for _, d := range ds {
			l.rev++
			l.Resolve(d, job.Applied{Rev: l.rev}, l.now)
		}
		l.rev++
		for _, d := range ds {
			if d.Run == nil || d.Run.State != job.Armed {
				continue
			}
			slots++
			r := *d.Run
			r.State, r.Started, r.Finished, r.Rev = job.Succeeded, l.now, l.now, l.rev
			l.Apply(job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: l.rev, Value: &r}, l.now)
			l.Apply(job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: l.rev + 1}, l.now)
		}
		l.rev++
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
