package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestRestoredStoreWaits puts the store back to an earlier state. One case uses a copy that was made while the store was
// stopped. The other case restores a snapshot of a store in use, as the how-to page says. Until an operator accepts the
// restored store, no replica leads, no worker works, and nothing is written. Then the slots since the copy count as missed, and
// everything continues.
func TestRestoredStoreWaits(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	post := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedNone, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	etcd := newEtcd(t, 1<<30)
	c := Start(t, Config{
		Binary: binary, Replicas: 2, Etcd: []string{etcd.endpoint}, Jobs: map[string]job.Spec{"post-1": post, "post-2": post},
	})
	nodes := append(slices.Clone(c.Replicas()), c.AddWorker("w1"))
	runOn := func() {
		t.Helper()
		asked := len(sink.Requests())
		Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > asked+6 })
	}
	down := func() {
		t.Helper()
		for _, n := range nodes {
			n.Terminate()
		}
		etcd.finish()
	}
	tape := &metricsTape{cluster: c}
	// Each node that knows the store waits until an operator accepts the store at one of the nodes.
	accept := func(at *Node, why string) (asked int) {
		t.Helper()
		asked = len(sink.Requests())
		for _, n := range nodes {
			said := strings.Count(n.Log(), "accept-restored-store")
			n.Start()
			Await(t, 20*time.Second, n.Name+" says: "+why, func() bool {
				text, ready, err := n.Client.Ready(t.Context())
				return err == nil && !ready && strings.Contains(text, why) && strings.Count(n.Log(), "accept-restored-store") > said
			})
		}
		Await(t, 20*time.Second, "the leases have run out that the store holds", func() bool {
			for _, family := range []string{"election", "replicas", "workers"} {
				resp, err := c.Recorder.client.Get(t.Context(), Prefix+"/"+family+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
				if err != nil || resp.Count > 0 {
					return false
				}
			}
			return true
		})
		c.Recorder.Sync()
		before := c.Recorder.Rev()
		Let(4 * time.Second)
		c.Recorder.Sync()
		if after := c.Recorder.Rev(); after != before {
			t.Errorf("the store went from revision %d to %d before anybody accepted it", before, after)
		}
		if n := len(sink.Requests()); n != asked {
			t.Errorf("%d runs were executed before anybody accepted the store", n-asked)
		}
		tape.record(why, 10, func(m sample) bool {
			return m.sum("rota_store_restored") == 3 && m.sum("rota_leader") == 0
		}, "RotaNobodyLeads", "RotaNotReady", "RotaStoreRestored")
		if out, code := Command(t, binary, "accept-restored-store", "--server="+at.URL); code != 0 {
			t.Fatalf("accept-restored-store: exit code %d: %s", code, out)
		}
		for _, n := range nodes {
			n.WaitReady()
		}
		c.WaitReady()
		runOn()
		return asked
	}
	runOn()
	tape.record("healthy", 20, (sample).calm)

	down()
	kept := sink.Requests()
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(etcd.dir)); err != nil {
		t.Fatal(err)
	}
	etcd.begin()
	for _, n := range nodes {
		n.Start()
	}
	c.WaitReady()
	runOn()
	down()
	lost := len(sink.Requests()) - len(kept)
	if err := os.RemoveAll(etcd.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(etcd.dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	t.Logf("fault: the store is put back by %d runs", lost)
	etcd.begin()
	c.Recorder.end() // the old recorder has records that no longer exist
	c.Recorder = NewRecorder(t, Prefix, c.Endpoints())
	asked := accept(c.Replicas()[0], "the store was restored")

	file := filepath.Join(t.TempDir(), "snapshot")
	if out, code := Command(t, binary, "etcdctl", "--endpoints="+etcd.endpoint, "snapshot", "save", file); code != 0 {
		t.Fatalf("snapshot save: exit code %d: %s", code, out)
	}
	runOn()
	down()
	c.Recorder.end()
	taken, bumped := restoreSnapshot(t, file, etcd.dir)
	past, at := upTo(c.Recorder.Versions(), taken)
	for _, n := range nodes { // the restored store has no record of the active runs of any node
		c.Harm(history.Fault{Kind: history.Kill, Node: n.Name, At: at})
	}
	kept = claimedIn(past, append(kept, sink.Requests()[asked:]...))
	t.Logf("fault: the store is put back from revision %d to %d, which counts as %d", c.Recorder.Rev(), taken, bumped)
	etcd.begin()
	c.Recorder = resume(t, Prefix, c.Endpoints(), past, bumped, c.certificates)
	asked = accept(nodes[2], "the store is a different one: etcd cluster")
	tape.check()
	c.Check(func() []history.Effect { return append(slices.Clone(kept), sink.Requests()[asked:]...) }, nil, nil)
}

// upTo returns the versions up to a revision, and the time when the recorder got the last of them.
func upTo(versions []history.Version, rev int64) (some []history.Version, at time.Time) {
	for _, v := range versions {
		if v.Rev <= rev {
			some, at = append(some, v), v.Seen
		}
	}
	return some, at
}

// claimedIn returns the effects of attempts whose claim is among the versions.
func claimedIn(versions []history.Version, effects []history.Effect) (some []history.Effect) {
	claimed := make(map[string]int64) // latest token of each run
	for _, v := range versions {
		if r, ok := decode[job.Run](v, "runs/"); ok && r.State == job.Running {
			claimed[r.Name()] = r.Token
		}
	}
	for _, e := range effects {
		if e.Token <= claimed[e.Run] {
			some = append(some, e)
		}
	}
	return some
}
