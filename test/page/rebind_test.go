package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
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

// TestRebindingIsRefused gives a foreign name the address of a replica on loopback, as DNS rebinding does. The page under that name
// belongs to the same origin as the replica, so the browser lets it read answers.
func TestRebindingIsRefused(t *testing.T) {
	const name = "rebind.example"
	b := newBrowser(t, chromedp.Flag("host-resolver-rules", "MAP "+name+" 127.0.0.1"))
	c := cluster.Start(t, cluster.Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{"secret-job": {Shell: "true"}}})
	replica := c.Replicas()[0].URL
	port := replica[strings.LastIndex(replica, ":"):]

	// The rule works: the same name leads to another server on loopback.
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "I am %s", r.Host) }))
	t.Cleanup(witness.Close)
	at, err := url.Parse(witness.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate("http://" + name + ":" + at.Port() + "/"))
	if got, _ := b.eval("document.body.textContent").(string); got != "I am "+name+":"+at.Port() {
		t.Fatalf("the foreign name leads to %q", got)
	}
	foreign := func() map[string]any {
		t.Helper()
		b.eval(fmt.Sprintf(evilPage, replica+"/v1/runs"))
		b.await(20*time.Second, "the page has its answers", "window.got")
		got, _ := b.eval("window.got").(map[string]any)
		return got
	}
	if got := foreign(); !strings.HasPrefix(fmt.Sprint(got["away"]), "failed") {
		t.Errorf("a page of another origin runs a command: %v", got["away"])
	}

	b.do(chromedp.Navigate("http://" + name + port + "/"))
	shown, _ := b.eval("document.documentElement.textContent").(string)
	if !strings.Contains(shown, "does not answer under the name") || strings.Contains(shown, "secret-job") {
		t.Errorf("the foreign name shows the page of the replica: %.300s", shown)
	}
	for what, answer := range foreign() {
		text := fmt.Sprint(answer)
		if !strings.HasPrefix(text, "421 ") && what != "away" || strings.Contains(text, "secret-job") {
			t.Errorf("%s under the foreign name: got %.300s, want 421", what, text)
		}
	}
	if runs, err := c.Client.Runs(t.Context(), client.RunFilter{}, ""); err != nil || len(runs.Runs) > 0 {
		t.Errorf("the foreign page made runs: %+v, %v", runs, err)
	}
	b.open("http://localhost" + port + "/jobs")
	if got := b.text("main"); !strings.Contains(got, "secret-job") {
		t.Errorf("under its own name, the page shows %.300s", got)
	}
}
