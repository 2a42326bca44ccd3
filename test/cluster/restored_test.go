package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestRestoredStoreWaits puts the store back to a copy that was made earlier: no replica leads, works or writes anything until
// somebody accepts it. Then the slots since the copy are missed ones, and all goes on from there.
func TestRestoredStoreWaits(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	post := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedNone, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	etcd := newEtcd(t, 1<<30)
	c := Start(t, Config{
		Binary: binary, Replicas: 2, Etcd: []string{etcd.endpoint}, Jobs: map[string]job.Spec{"post-1": post, "post-2": post},
	})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 6 })
	down := func() {
		t.Helper()
		for _, n := range c.Replicas() {
			n.Terminate()
		}
		etcd.finish()
	}
	up := func() {
		t.Helper()
		etcd.begin()
		for _, n := range c.Replicas() {
			n.Start()
		}
	}

	down()
	kept := sink.Requests()
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(etcd.dir)); err != nil {
		t.Fatal(err)
	}
	up()
	c.WaitReady()
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+6 })
	down()
	lost := len(sink.Requests()) - len(kept)
	if err := os.RemoveAll(etcd.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(etcd.dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	t.Logf("fault: the store is put back by %d runs", lost)
	asked = len(sink.Requests())
	up()

	for _, n := range c.Replicas() {
		Await(t, 20*time.Second, n.Name+" says that the store was put back", func() bool {
			text, ready, err := n.Client.Ready(t.Context())
			return err == nil && !ready && strings.Contains(text, "the store was put back") && strings.Contains(n.Log(), "accept-restored-store")
		})
	}
	c.Recorder = NewRecorder(t, Prefix, c.Endpoints()) // the first one has seen what there is no more
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
	if out, code := Command(t, binary, "accept-restored-store", "--server="+c.Replicas()[0].URL); code != 0 {
		t.Fatalf("accept-restored-store: exit code %d: %s", code, out)
	}
	c.WaitReady()
	Await(t, 20*time.Second, "jobs run again", func() bool { return len(sink.Requests()) > asked+6 })
	c.Check(func() []history.Effect { return append(slices.Clone(kept), sink.Requests()[asked:]...) }, nil, nil)
}
