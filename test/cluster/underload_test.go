package cluster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestRestoreUnderLoad replaces the store by a backup while replicas and a worker execute runs. Each process ends by itself, with its
// jobs, and waits after its restart. After the operator has accepted the store, only the runs that were active at the time of the
// backup are executed again.
func TestRestoreUnderLoad(t *testing.T) {
	row(t)
	t.Parallel()
	sink, ledger := NewSink(t), NewLedger(t)
	etcd := newEtcd(t, 1<<30)
	jobs := sink.Posts(40, job.Spec{})
	for name, spec := range jobs {
		spec.Missed = job.MissedNone
		jobs[name] = spec
	}
	long := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedNone, Overlap: job.OverlapAllow, Shell: ledger.Working(3 * time.Second)}
	jobs["long"] = long
	long.Delivery = job.AtMostOnce
	jobs["once"] = long
	c := Start(t, Config{Binary: binary, Replicas: 2, Etcd: []string{etcd.endpoint}, Jobs: jobs})
	nodes := append(slices.Clone(c.Replicas()), c.AddWorker("w1"))
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 200 })

	file := filepath.Join(t.TempDir(), "snapshot")
	saved := time.Now()
	if out, code := Command(t, binary, "etcdctl", "--endpoints="+etcd.endpoint, "snapshot", "save", file); code != 0 {
		t.Fatalf("snapshot save: exit code %d: %s", code, out)
	}
	took := time.Since(saved)
	Let(5 * time.Second)
	c.Recorder.Sync()
	etcd.finish()
	c.Recorder.end()
	taken, bumped := restoreSnapshot(t, file, etcd.dir)
	past, _ := upTo(c.Recorder.Versions(), taken)
	etcd.begin()
	back := time.Now()
	for _, n := range nodes {
		code := n.Await(15 * time.Second)
		t.Logf("%s ended with code %d, %v after the store was back", n.Name, code, time.Since(back).Round(10*time.Millisecond))
		if code != 1 {
			t.Errorf("%s ended with code %d, want 1", n.Name, code)
		}
	}
	Await(t, 5*time.Second, "the processes of jobs are gone", func() bool { return len(Descendants(t, c.mark())) == 0 })
	ended := time.Now()
	all := func() []history.Effect { return append(sink.Requests(), ledger.Effects()...) }
	for _, e := range all() {
		if e.Arrived.After(back.Add(time.Second)) {
			t.Errorf("%s was executed %v after the store was back, before anybody accepted it", e.Run, e.Arrived.Sub(back))
		}
	}
	c.Recorder = resume(t, Prefix, c.Endpoints(), past, bumped, c.certificates)
	for _, n := range nodes {
		n.Start()
		Await(t, 20*time.Second, n.Name+" waits", func() bool {
			text, ready, err := n.Client.Ready(t.Context())
			return err == nil && !ready && strings.Contains(text, "the store is a different one")
		})
	}
	if out, code := Command(t, binary, "accept-restored-store", "--server="+nodes[0].URL); code != 0 {
		t.Fatalf("accept-restored-store: exit code %d: %s", code, out)
	}
	for _, n := range nodes {
		n.WaitReady()
	}
	Await(t, 30*time.Second, "slots run again", func() bool {
		n := 0
		for _, e := range sink.Requests() {
			if e.Arrived.After(ended) {
				n++
			}
		}
		return n > 200
	})
	c.Quiesce()
	times, active := make(map[string]int), make(map[string]bool)
	for _, e := range all() {
		times[e.Run]++
		if e.Arrived.Before(saved.Add(took).Add(time.Second)) && (e.Ended.IsZero() || e.Ended.After(saved.Add(-time.Second))) {
			active[e.Run] = true
		}
	}
	counts := make(map[int]int)
	for run, n := range times {
		if counts[n]++; n > 1 && (!active[run] || n > 2 || strings.HasPrefix(run, "once/")) {
			t.Errorf("%s was executed %d times; active at the time of the backup: %v", run, n, active[run])
		}
	}
	states := make(map[string]int)
	for _, r := range c.Recorder.Runs("") {
		states[r.Job[:4]+" "+string(r.State)]++
	}
	t.Logf("executions of a run: %v; runs by state: %v", counts, states)
	c.Verify()
}
