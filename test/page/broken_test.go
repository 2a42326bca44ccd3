package page

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// TestBadDays looks at the page of a cluster without jobs and workers, and then of one that has lost its majority. Each view
// says what is wrong, and none complains.
func TestBadDays(t *testing.T) {
	b := newBrowser(t)
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Jobs: map[string]job.Spec{}, Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	last := c.Replicas()[0]
	for path, want := range map[string]string{
		"/": "No jobs yet", "/jobs": "No jobs yet", "/runs": "No runs match", "/timeline": "No job has a run or a slot", "/timeline/week": "No job has a slot",
		"/workers": "No worker is present", "/limits": "No limits", "/events": "Events", "/audit": "Audit", "/api": "submit-run",
	} {
		b.open(last.URL + path)
		if got := b.html("main"); !strings.Contains(got, want) {
			t.Errorf("%s of an empty cluster lacks %q: %.300s", path, want, got)
		}
		b.picture("empty", path)
	}
	b.open(last.URL + "/timeline")
	for _, n := range c.Replicas()[1:] {
		n.Kill()
	}
	b.await(60*time.Second, "an open page says that the replica has lost etcd", "!document.querySelector('#trouble').hidden")
	for _, path := range []string{"/", "/jobs", "/timeline", "/timeline/week", "/cluster", "/workers"} {
		b.open(last.URL + path)
		if got := b.text("#trouble"); !strings.Contains(got, "has not reached etcd") {
			t.Errorf("%s of a replica that has lost etcd does not say so: %q", path, got)
		}
		b.picture("broken", path)
	}
	if list := b.complained(); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
	for _, n := range c.Replicas()[1:] {
		n.Start()
	}
	c.WaitReady()
	b.open(last.URL + "/")
	b.await(30*time.Second, "the trouble is over", "document.querySelector('#trouble').hidden")
}
