package page

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// TestBadDays looks at the page of a cluster without jobs, then of one without workers, then of one without a leader, and then of one
// that has lost its majority. Each view says what is wrong, and none complains.
func TestBadDays(t *testing.T) {
	b := newBrowser(t)
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Jobs: map[string]job.Spec{}, Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	last := c.Replicas()[0]
	for path, want := range map[string]string{
		"/": "No jobs yet", "/jobs": "No jobs yet", "/runs": "No runs match", "/timeline": "No job has a run or a slot", "/timeline/week": "No job has a slot",
		"/workers": "No worker is present", "/limits": "No limits", "/events": "Events", "/audit": "Audit", "/api": "submit-run",
		"/cluster": "none", "/calendars": "No job has a calendar", "/tokens": "no token", "/schedule": "Nothing is stored",
	} {
		b.open(last.URL + path)
		if got := b.html("main"); !strings.Contains(got, want) {
			t.Errorf("%s of an empty cluster lacks %q: %.300s", path, want, got)
		}
		b.picture("empty", path)
	}

	run := withoutWorkers(t, b, c, last.URL)
	withoutLeader(t, b, c, last.URL, run)
	b.open(last.URL + "/api") // a view that follows no job
	for _, n := range c.Replicas()[1:] {
		n.Kill()
	}
	b.await(60*time.Second, "an open page says that the replica has lost etcd", "!document.querySelector('#trouble').hidden")
	b.await(20*time.Second, "its age is not read aloud",
		"document.querySelector('#trouble [aria-hidden]')?.textContent.includes(' s')")
	for _, path := range []string{
		"/", "/jobs", "/jobs/backup", "/jobs/backup/workflow", "/runs", run, "/timeline", "/timeline/week", "/events", "/workers", "/limits", "/cluster", "/audit", "/api",
		"/do/run?job=backup", "/calendars", "/tokens", "/schedule?schedule=90s",
	} {
		b.open(last.URL + path)
		if got := b.text("#trouble"); !strings.Contains(got, "has not reached etcd") {
			t.Errorf("%s of a replica that has lost etcd does not say so: %q", path, got)
		}
		b.picture("broken", path)
	}
	b.open(last.URL + "/")
	if got := b.text(".verdict h1"); !strings.Contains(got, "No replica leads") {
		t.Errorf("without a majority, the first line is %q", got)
	}
	if list := b.complained("503", "504"); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
	b.open(last.URL + run)
	b.await(10*time.Second, "a run cannot be read", "document.querySelector('.problem')")
	for _, n := range c.Replicas()[1:] {
		n.Start()
	}
	c.WaitReady()
	b.await(30*time.Second, "the run appears by itself", "!document.querySelector('.problem') && document.querySelector('h1')")
	b.open(last.URL + "/")
	b.await(30*time.Second, "the trouble is over", "document.querySelector('#trouble').hidden")
}

// withoutWorkers creates jobs whose runs wait for a worker. It returns the path of the page of a run.
func withoutWorkers(t *testing.T, b *browser, c *cluster.Cluster, base string) string {
	for _, name := range []string{"backup", "report"} {
		spec := job.Spec{Description: "Copies the orders", Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Shell: "true"}
		if name == "report" {
			spec = job.Spec{After: []job.After{{Job: "backup"}}, Shell: "true"}
		}
		if _, _, err := c.Client.PutJob(t.Context(), name, spec, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	b.open(base + "/")
	b.await(10*time.Second, "the slots of new jobs are listed", "document.querySelector('[data-live=lists]').textContent.includes('backup')")
	run, _, err := c.Client.Submit(t.Context(), "backup", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	path := "/runs/" + run.Ref
	for path, want := range map[string]string{
		"/": "no worker", "/jobs": "backup", "/jobs/backup": "waiting", path: "worker", "/runs": "worker", "/workers": "No worker is present", "/cluster": "worker",
		"/events": "", "/audit": "", "/limits": "", "/calendars": "", "/tokens": "", "/timeline": "", "/timeline/week": "", "/jobs/backup/workflow": "",
	} {
		b.open(base + path)
		b.await(10*time.Second, path+" says that no worker is there", "document.querySelector('main').textContent.toLowerCase().includes('"+strings.ToLower(want)+"')")
		b.picture("noworker", path)
	}
	return path
}

// withoutLeader puts a stranger's key first into the election, so that no replica can lead while etcd answers. It removes the key
// at the end.
func withoutLeader(t *testing.T, b *browser, c *cluster.Cluster, base, run string) {
	t.Helper()
	etcd, election := cluster.Dial(t, c.Endpoints()), cluster.Prefix+"/election/"
	candidates, err := etcd.Get(t.Context(), election, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	lease, err := etcd.Grant(t.Context(), 300) // the election evicts a key without one
	if err != nil {
		t.Fatal(err)
	}
	ops := []clientv3.Op{clientv3.OpPut(election+"stranger", "", clientv3.WithLease(lease.ID))}
	for _, kv := range candidates.Kvs {
		ops = append(ops, clientv3.OpDelete(string(kv.Key)))
	}
	if _, err := etcd.Txn(t.Context()).Then(ops...).Commit(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/", "/cluster", "/jobs", "/jobs/backup", "/jobs/backup/workflow", "/runs", run, "/events", "/timeline", "/timeline/week", "/workers", "/limits", "/calendars",
		"/audit", "/tokens",
	} {
		b.open(base + path)
		b.await(20*time.Second, path+" says that no replica leads", "document.querySelector('[data-live=leader]').textContent.includes('no leader')")
		if got := b.text("#trouble"); got != "" {
			t.Errorf("%s says that etcd is lost, and it is not: %s", path, got)
		}
		if path == "/" {
			b.await(20*time.Second, "the first line says it", "document.querySelector('.verdict h1').textContent.includes('No replica leads')")
		}
		b.picture("noleader", path)
	}
	if _, err := etcd.Revoke(t.Context(), lease.ID); err != nil {
		t.Fatal(err)
	}
	b.await(30*time.Second, "an open page shows the new leader", "document.querySelector('[data-live=leader]').textContent.includes('leads')")
}
