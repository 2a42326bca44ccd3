package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestStoreIsFull fills etcd while jobs execute. All nodes report it, and outcomes wait. After the steps of
// docs/how-to/recover-a-full-store.md all continue, and no run is lost or repeated. In each state, exactly its alerts fire.
func TestStoreIsFull(t *testing.T) {
	row(t)
	t.Parallel()
	const quota = 16 << 20
	sink, ledger := NewSink(t), NewLedger(t)
	gate := t.TempDir() + "/go"
	post := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	often := post
	often.Overlap = job.OverlapAllow // the leader has to decide more slots while one waits for its claim
	c := Start(t, Config{Binary: binary, Replicas: 2, Etcd: []string{startEtcd(t, quota)}, Jobs: map[string]job.Spec{
		"post-1": post, "post-2": post, "post-3": often,
		"long": {Shell: ledger.Shell("while [ ! -e " + gate + " ]; do sleep 0.05; done")},
	}})
	submit(t, c, "long", api.RunRequest{})
	Await(t, 20*time.Second, "the run executes", func() bool { return len(ledger.Effects()) == 1 })
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 6 })
	tape := &metricsTape{cluster: c}
	used := func(m sample) float64 { return m.sum("rota_store_size_bytes") / m.sum("rota_store_quota_bytes") }
	tape.record("healthy", 20, func(m sample) bool { return m.calm() && used(m) < 0.5 })

	Await(t, 20*time.Second, "the store fills up", func() bool {
		if err := fill(t, c, 128<<10); err != nil {
			t.Fatal(err)
		}
		st, err := c.Recorder.client.Status(t.Context(), c.Endpoints()[0]) // etcd measures its size ten times a second
		return err == nil && 100*st.DbSize > 83*quota
	})
	tape.record("the store fills up", 10, func(m sample) bool { return m.calm() && used(m) > 0.8 }, "RotaStoreFillsUp")
	fillStore(t, c)
	touch(t, gate)
	Await(t, 10*time.Second, "the job ends", func() bool { return !ledger.Effects()[0].Ended.IsZero() })
	for _, n := range c.Replicas() {
		Await(t, 20*time.Second, n.Name+" says that etcd is full", func() bool {
			text, ready, err := n.Client.Ready(t.Context())
			return err == nil && !ready && strings.Contains(text, "etcd is full") && strings.Contains(n.Log(), "etcd is full")
		})
	}
	if out, _ := Command(t, binary, "status", "--server="+c.Replicas()[0].URL); !strings.Contains(out, "etcd is full") {
		t.Errorf("rota status does not say that etcd is full:\n%s", out)
	}
	if _, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{}); err == nil {
		t.Error("a submission is accepted by an etcd that takes nothing")
	}
	tape.record("the store is full", 10, func(m sample) bool {
		return m.sum("rota_store_full") == 2 && m.sum("rota_outcomes_unsent") > 0 && m.sum("rota_dispatch_behind_seconds") > 5
	}, "RotaDispatchBehind", "RotaNotReady", "RotaOutcomesUnsent", "RotaStoreFillsUp", "RotaStoreFull")
	if r := onlyRun(t, c, "long"); r.State != job.Running {
		t.Errorf("run is %s with a full store: the fault took no effect", r.State)
	}

	// The steps of the how-to page.
	etcdctl := func(args ...string) {
		t.Helper()
		if out, code := Command(t, binary, append([]string{"etcdctl", "--endpoints=" + c.Endpoints()[0]}, args...)...); code != 0 {
			t.Fatalf("rota etcdctl %s: exit code %d: %s", strings.Join(args, " "), code, out)
		}
	}
	etcdctl("del", "--prefix", "/filler/")
	c.Recorder.Sync()
	etcdctl("compaction", "--physical", fmt.Sprint(c.Recorder.Rev()))
	etcdctl("defrag")
	etcdctl("alarm", "disarm")
	cured := time.Now()

	Await(t, 30*time.Second, "the outcome is delivered", func() bool { return onlyRun(t, c, "long").State.Terminal() })
	t.Logf("outcome delivered %v after the cure", time.Since(cured).Round(10*time.Millisecond))
	if r := onlyRun(t, c, "long"); r.State != job.Succeeded || r.Attempt != 1 {
		t.Errorf("run after the cure: got %s after attempt %d (%s), want succeeded with the first", r.State, r.Attempt, r.Reason)
	}
	tape.record("the store has room", 10, func(m sample) bool { return m.calm() && used(m) < 0.5 && m.sum("rota_store_full") == 0 })
	tape.check()
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+6 })
	c.Check(func() []history.Effect { return append(sink.Requests(), ledger.Effects()...) }, nil, nil)
}

// fillStore puts values into etcd until it rejects them.
func fillStore(t *testing.T, c *Cluster) {
	t.Helper()
	for i := 0; ; i++ {
		err := fill(t, c, 1<<20)
		if err == nil && i < 64 {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "space exceeded") {
			t.Fatalf("etcd is not full after %d MiB: %v: the fault took no effect", i, err)
		}
		t.Logf("fault: etcd is full after %d MiB", i)
		return
	}
}

// fill puts a value of some bytes into etcd.
func fill(t *testing.T, c *Cluster, size int) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := c.Recorder.client.Put(ctx, "/filler/value", strings.Repeat("x", size))
	return err
}

// submit submits a run of a job, which must be accepted. It retries with the same key while etcd's leadership moves.
func submit(t *testing.T, c *Cluster, name string, r api.RunRequest) (v api.RunView) {
	t.Helper()
	if r.Key == "" {
		r.Key = fmt.Sprint("submit-", submissions.Add(1))
	}
	Await(t, 20*time.Second, "a run of "+name+" is submitted", func() (done bool) {
		var err error
		v, _, err = c.Client.Submit(t.Context(), name, r)
		return err == nil
	})
	return v
}

var submissions atomic.Int64 // numbers the keys of submit
