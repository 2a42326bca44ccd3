package cluster

import (
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestRevokedLeasesEndNoAttempts revokes all leases while attempts execute, as etcd does after a pause of its leader (its issue
// 15247). A new term begins. The workers put their presences back, and every attempt ends as if nothing had happened.
func TestRevokedLeasesEndNoAttempts(t *testing.T) {
	row(t)
	t.Parallel()
	const runs = 12
	ledger := NewLedger(t)
	gate := t.TempDir() + "/go"
	waits := ledger.Shell("while [ ! -e " + gate + " ]; do sleep 0.1; done")
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"once": {Shell: waits, Overlap: job.OverlapAllow, Delivery: job.AtMostOnce},
		"more": {Shell: waits, Overlap: job.OverlapQueue, Retry: &job.Retry{Max: 3}},
	}})
	worker := c.AddWorker("w1")
	submit(t, c, "more", api.RunRequest{})
	for range runs - 1 {
		submit(t, c, "once", api.RunRequest{})
	}
	working := func(state job.State) (n int) {
		for _, name := range []string{"once", "more"} {
			for _, r := range c.Recorder.Runs(name) {
				if r.State == state {
					n++
				}
			}
		}
		return n
	}
	Await(t, 20*time.Second, "all runs execute", func() bool { return working(job.Running) == runs })

	etcd := c.Recorder.client
	before, err := etcd.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	term := firstCandidate(t, c)
	var wg sync.WaitGroup
	for _, l := range before.Leases {
		wg.Go(func() { _, _ = etcd.Revoke(t.Context(), l.ID) }) // the lease may be gone
	}
	wg.Wait()
	revoked := time.Now()
	t.Logf("fault: %d leases were revoked", len(before.Leases))
	Await(t, 20*time.Second, "another term", func() bool { return firstCandidate(t, c) > term })
	Let(time.Until(revoked.Add(3 * time.Second))) // a leader that takes the runs back does so within this time
	touch(t, gate)
	Await(t, 30*time.Second, "all runs end", func() bool { return working(job.Succeeded) == runs })
	for _, name := range []string{"once", "more"} {
		for id, r := range c.Recorder.Runs(name) {
			if r.Attempt != 1 {
				t.Errorf("run %s/%s took %d attempts", name, id, r.Attempt)
			}
		}
	}
	for _, n := range append(c.Replicas(), worker) {
		vs := c.Recorder.VersionsOf("workers/" + n.Name)
		if last := vs[len(vs)-1]; last.Create == vs[0].Create {
			t.Errorf("the presence of %s was never removed: the fault took no effect", n.Name)
		}
		if lost := n.Metric("rota_worker_sessions_lost_total"); lost > 0 {
			t.Errorf("%s lost %v sessions", n.Name, lost)
		}
	}
	c.Check(ledger.Effects, nil, nil)
}

// firstCandidate returns the revision of the first candidate's key, which is the term if it leads; 0 if there is none.
func firstCandidate(t *testing.T, c *Cluster) int64 {
	t.Helper()
	resp, err := c.Recorder.client.Get(t.Context(), Prefix+"/election/", clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return 0
	}
	return resp.Kvs[0].CreateRevision
}
