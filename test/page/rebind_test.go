package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/network"
)

// evilPage tries to read jobs and to run a command, as a page of a stranger does after its name leads to rota. It keeps what it got.
const evilPage = `(async () => {
  const ask = async (path, options) => {
    try {
      const answer = await fetch(path, options);
      return answer.status + ' ' + await answer.text();
    } catch (e) { return 'failed: ' + e; }
  };
  const run = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({shell: 'id'})};
  window.got = {read: await ask('/v1/jobs'), run: await ask('/v1/runs', run), away: await ask(%q, run)};
})(); 0`

// TestRebindingIsRefused gives a foreign name the address of a replica, as DNS rebinding does: of one on loopback, and of one in a
// network namespace, as a container has. The page under that name belongs to the same origin as the replica, so the browser lets it
// read answers.
func TestRebindingIsRefused(t *testing.T) {
	cfg := cluster.Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{"secret-job": {Shell: "true"}}}
	t.Run("on loopback", func(t *testing.T) { refusesRebinding(t, cluster.Start(t, cfg), "localhost") })
	t.Run("in a namespace", func(t *testing.T) {
		lab := network.New(t, "q1")
		refusesRebinding(t, cluster.StartOn(t, cfg, cluster.Place{Hosts: lab.Hosts()}), lab.Host("q1").Addr)
	})
}

// refusesRebinding opens the page of a replica under a foreign name. own is a name under which the replica answers.
func refusesRebinding(t *testing.T, c *cluster.Cluster, own string) {
	const name = "rebind.example"
	at, err := url.Parse(c.Replicas()[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, chromedp.Flag("host-resolver-rules", "MAP "+name+" "+at.Hostname()))

	// The rule works: the same name leads to etcd at this address.
	b.do(chromedp.Navigate("http://" + name + strings.TrimPrefix(c.Endpoints()[0], "http://"+at.Hostname()) + "/version"))
	if got, _ := b.eval("document.body.textContent").(string); !strings.Contains(got, "etcdserver") {
		t.Fatalf("the foreign name leads to %q", got)
	}
	foreign := func() map[string]any {
		t.Helper()
		b.eval(fmt.Sprintf(evilPage, at.String()+"/v1/runs"))
		b.await(20*time.Second, "the page has its answers", "window.got")
		got, _ := b.eval("window.got").(map[string]any)
		return got
	}
	if got := foreign(); !strings.HasPrefix(fmt.Sprint(got["away"]), "failed") {
		t.Errorf("a page of another origin runs a command: %v", got["away"])
	}

	b.do(chromedp.Navigate("http://" + name + ":" + at.Port() + "/"))
	shown, _ := b.eval("document.documentElement.textContent").(string)
	if !strings.Contains(shown, "does not answer under the name") || strings.Contains(shown, "secret-job") {
		t.Errorf("the foreign name shows the page of the replica: %.300s", shown)
	}
	b.do(chromedp.Navigate("http://" + name + ":" + at.Port() + "/v1/jobs")) // has no policy that forbids the requests
	for what, answer := range foreign() {
		text := fmt.Sprint(answer)
		if !strings.HasPrefix(text, "421 ") && what != "away" || strings.Contains(text, "secret-job") {
			t.Errorf("%s under the foreign name: got %.300s, want 421", what, text)
		}
	}
	if runs, err := c.Client.Runs(t.Context(), client.RunFilter{}, ""); err != nil || len(runs.Runs) > 0 {
		t.Errorf("the foreign page made runs: %+v, %v", runs, err)
	}
	b.open("http://" + own + ":" + at.Port() + "/jobs")
	if got := b.text("main"); !strings.Contains(got, "secret-job") {
		t.Errorf("under its own name, the page shows %.300s", got)
	}
}
