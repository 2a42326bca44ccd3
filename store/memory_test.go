package store

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
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

// TestMirroredSubmissions bounds the memory of a mirror for a submission that waits for its time, so that a million of them take
// less than 1 GiB. ROTA_SUBMISSIONS=1000000 sets their number.
func TestMirroredSubmissions(t *testing.T) {
	const most = 340 // bytes for each submission
	count := 20_000
	if text := os.Getenv("ROTA_SUBMISSIONS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	s := open(t, fake(t, nil).Client())
	m := NewMirror(s)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m.begin()
	for from := 0; from < count; from += 1000 {
		var kvs []*mvccpb.KeyValue
		for i := from; i < min(from+1000, count); i++ {
			due := now.Add(time.Duration(i%86_400) * time.Second)
			r := job.Run{
				Job: "invoice", ID: fmt.Sprintf("01m8az224798jpj2%010d", i), Kind: job.KindDelayed, Slot: now, Due: due, State: job.Pending,
				Reason: job.ReasonNotYet, Key: fmt.Sprintf("order-%d", i), Created: now, By: "shop", Op: fmt.Sprintf("0123456789abcdef-%d", i),
			}
			value, err := encode(&r)
			if err != nil {
				t.Fatal(err)
			}
			kvs = append(kvs, &mvccpb.KeyValue{Key: []byte(s.keys.run(r.Job, r.ID)), Value: value, ModRevision: int64(i + 2)})
		}
		m.page(kvs)
	}
	m.reset(int64(count) + 1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := m.CountRuns(now).Awaits; n != count {
		t.Fatalf("%d submissions wait, want %d", n, count)
	}
	got := (after.HeapAlloc - before.HeapAlloc) / uint64(count)
	t.Logf("a submission takes %d bytes", got)
	if got > most {
		t.Errorf("a submission takes %d bytes, at most %d were expected", got, most)
	}
	runtime.KeepAlive(m)
}
