package store

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestMirroredJobs bounds the memory of a mirror for a job whose definition resembles others, and the memory that
// reading it allocates. Both must be small, because a start reads up to a million jobs.
func TestMirroredJobs(t *testing.T) {
	const jobs, most, once = 20_000, 450, 900 // bytes for each job: kept, and allocated in total
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	s := open(t, fake(t, nil).Client())
	kvs := make([]*mvccpb.KeyValue, jobs)
	for i := range kvs {
		spec := job.Spec{Schedule: []string{fmt.Sprintf("%d 2 * * *", i%60)}, Handler: "report", Jitter: job.Duration(time.Hour)}
		j, _ := job.Define(nil, fmt.Sprintf("job-%06d", i), spec.WithDefaults(), job.Origin{Kind: job.OriginAPI}, now.Add(time.Duration(i)))
		j.Op = fmt.Sprintf("0123456789abcdef-%d", i)
		value, err := encode(&j)
		if err != nil {
			t.Fatal(err)
		}
		kvs[i] = &mvccpb.KeyValue{Key: []byte(s.keys.job(j.Name)), Value: value, ModRevision: int64(i + 2)}
	}
	m := NewMirror(s)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m.begin()
	for page := range 4 {
		m.page(kvs[page*jobs/4 : (page+1)*jobs/4])
	}
	m.reset(jobs + 1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := m.CountJobs(); n != jobs {
		t.Fatalf("%d jobs, want %d", n, jobs)
	}
	if got := (after.HeapAlloc - before.HeapAlloc) / jobs; got > most {
		t.Errorf("a job takes %d bytes, at most %d were expected", got, most)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / jobs; got > once {
		t.Errorf("reading a job takes %d bytes, at most %d were expected", got, once)
	}
	t.Logf("a job takes %d bytes, and %d to be read", (after.HeapAlloc-before.HeapAlloc)/jobs, (after.TotalAlloc-before.TotalAlloc)/jobs)
	runtime.KeepAlive(kvs)
	runtime.KeepAlive(m)
}
