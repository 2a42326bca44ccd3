package cluster

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTwoWorkersClaim makes two workers claim the same runs at the same instant. Each run is armed at one worker and then given
// to another, as by a leader that considers the first worker lost. The first worker does not learn this. The store accepts the
// claim of the worker that the record names. It rejects the other claim, and that worker executes and writes nothing.
func TestTwoWorkersClaim(t *testing.T) {
	row(t)
	t.Parallel()
	const runs = 20
	ledger := NewLedger(t)
	ahead := func(name string) []string { return append(idle(name), "--dispatch-arm-ahead=10s") }
	c := Start(t, Config{Binary: binary, Replicas: 1, Flags: ahead, Jobs: map[string]job.Spec{
		"race": {Shell: ledger.Shell(""), Overlap: job.OverlapAllow},
	}})
	workers := []*Node{c.AddWorker("w1"), c.AddWorker("w2")}
	other := map[string]string{"w1": "w2", "w2": "w1"}
	refused := func() (n float64) {
		for _, w := range workers {
			n += w.Metric("rota_claim_conflicts_total")
		}
		return n
	}
	before := refused()
	due := time.Now().Add(12 * time.Second)
	for range runs {
		submit(t, c, "race", api.RunRequest{At: &due})
	}
	handed := make(map[string]job.Run) // the runs given to the other worker, by id
	Await(t, 20*time.Second, "all runs are armed, and handed over", func() bool {
		for id, r := range c.Recorder.Runs("race") {
			if _, done := handed[id]; done || r.State != job.Armed {
				continue
			}
			if next, ok := handOver(t, c, r, other[r.Worker]); ok {
				handed[id] = next
			}
		}
		return len(handed) == runs
	})
	if late := time.Since(due); late > 0 {
		t.Fatalf("they were handed over %v after they were due: the machine is too slow for this test", late)
	}
	Await(t, 20*time.Second, "all runs end", func() bool {
		for _, r := range c.Recorder.Runs("race") {
			if !r.State.Terminal() {
				return false
			}
		}
		return true
	})
	for id, r := range c.Recorder.Runs("race") {
		if want := handed[id]; r.State != job.Succeeded || r.Worker != want.Worker || r.Attempt != 1 || r.Token != want.Rev {
			t.Errorf("run %s: got %s after attempt %d on %s with token %d, want succeeded with the first on %s with %d",
				id, r.State, r.Attempt, r.Worker, r.Token, want.Worker, want.Rev)
		}
		if n := len(c.Recorder.VersionsOf("runs/" + r.Name())); n != 5 { // created, armed, given to the other, claimed, ended
			t.Errorf("run %s has %d versions, want 5: the one that lost it wrote", id, n)
		}
	}
	Within(10*time.Second, func() bool { return refused()-before >= runs }) // the rejection may arrive after the end of the run
	if n := refused() - before; n != runs {
		t.Errorf("%v claims were refused, want one of each of %d runs: the fault took no effect", n, runs)
	}
	c.Check(ledger.Effects, nil, nil)
	if n := len(ledger.Effects()); n != runs {
		t.Errorf("%d executions of %d runs", n, runs)
	}
}

// handOver gives an armed run to another worker, as a leader does. ok is false if the record has changed meanwhile.
func handOver(t *testing.T, c *Cluster, r job.Run, to string) (next job.Run, ok bool) {
	t.Helper()
	presence, definition := c.Recorder.VersionsOf("workers/"+to), c.Recorder.VersionsOf("jobs/"+r.Job)
	var w job.Worker
	if err := json.Unmarshal(presence[len(presence)-1].Value, &w); err != nil {
		t.Fatal(err)
	}
	next = r
	next.Worker, next.Session = w.Name, w.Session
	order := job.Order{ID: "hand-" + r.ID, Session: w.Session, JobRevs: []int64{definition[len(definition)-1].Rev}, Runs: []job.Run{next}}
	key := Prefix + "/runs/" + r.Name()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	resp, err := c.Recorder.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", r.Rev)).Then(
		clientv3.OpPut(key, encoded(t, next)), clientv3.OpPut(Prefix+"/queues/"+to+"/"+order.ID, encoded(t, order)),
	).Commit()
	if err != nil {
		t.Fatalf("hand %s over: %v", r.Name(), err)
	}
	next.Rev = resp.Header.Revision
	return next, resp.Succeeded
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
