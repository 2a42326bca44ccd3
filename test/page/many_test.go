package page

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
)

// selectedRuns cancels and repeats runs that are selected in the list.
func selectedRuns(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	var refs []string
	for range 2 {
		v, _, err := c.Client.Submit(t.Context(), "waits", api.RunRequest{In: "1h"})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, v.Ref)
	}
	choose := func(action string) {
		t.Helper()
		b.open(base + "/runs?job=waits")
		b.await(10*time.Second, "the runs are listed", "document.querySelectorAll('[name=runs]').length >= 2")
		b.eval("document.querySelector('#selectall input').click(); [...document.querySelectorAll('#bulk button')].find(e => e.textContent === '" + action + "').click(); 0")
		b.await(10*time.Second, "the confirmation names both runs", "document.querySelector('form.action h1')?.textContent === '"+action+" 2 runs'")
		press(b, nil)
		b.await(10*time.Second, "the action is done", "location.pathname === '/runs' && document.readyState === 'complete'")
	}
	choose("Cancel")
	for _, ref := range refs {
		runIs("/runs/"+ref, job.Canceled)
	}
	choose("Retry")
	list, err := c.Client.Runs(t.Context(), client.RunFilter{Job: "waits"}, "")
	repeated := 0
	for i := range list.Runs {
		if list.Runs[i].RetryOf != "" {
			repeated++
		}
	}
	if err != nil || repeated != 2 {
		t.Errorf("the runs of waits: got %d that repeat others, %v, want 2", repeated, err)
	}
	submit(b, base, "/do/run-jobs?jobs=waits&jobs=colors", nil)
	for _, name := range []string{"waits", "colors"} {
		cluster.Await(t, 10*time.Second, "a run of "+name+" was created", func() bool {
			latest, err := c.Client.Runs(t.Context(), client.RunFilter{Job: name, Limit: 1}, "")
			return err == nil && len(latest.Runs) == 1 && latest.Runs[0].Kind == job.KindManual && latest.Runs[0].State == job.Succeeded
		})
	}
}

// tokens makes a token, replaces and revokes it.
func tokens(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	secret := func() (text, id string) {
		t.Helper()
		b.await(10*time.Second, "the token is shown", "document.querySelector('#secret')")
		text = b.text("#secret")
		parts := strings.Split(text, "_")
		if len(parts) != 4 || parts[0] != "rota" {
			t.Fatalf("the token is %q", text)
		}
		return text, parts[1]
	}
	known := func() (ids string) {
		all, err := c.Client.Tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range all {
			ids += v.ID + "=" + v.Principal + "/" + string(v.Role) + strings.Join(v.Jobs, ",") + " "
		}
		return ids
	}
	b.open(base + "/do/token")
	press(b, map[string]string{"principal": "ci", "role": "operator", "jobs": "team-a-* team-b-*", "life": "90d"})
	first, id := secret()
	if got := known(); !strings.Contains(got, id+"=ci/operatorteam-a-*,team-b-*") {
		t.Errorf("tokens: got %s", got)
	}
	b.open(base + "/tokens")
	if got := b.html("main"); !strings.Contains(got, id) || strings.Contains(got, strings.Split(first, "_")[2]) {
		t.Errorf("the list of tokens lacks the id, or has the secret: %.300s", got)
	}
	b.open(base + "/do/rotate-token?token=" + id)
	press(b, nil)
	second, next := secret()
	if second == first || next == id {
		t.Errorf("the token after the rotation is %s", next)
	}
	for _, each := range []string{id, next} {
		submit(b, base, "/do/revoke-token?token="+each, nil)
	}
	if got := known(); strings.Contains(got, "=ci/") {
		t.Errorf("tokens after the revocation: got %s", got)
	}
}

// resumes continues a workflow from its failed step, by the grid of the workflow.
func resumes(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	repaired := filepath.Join(t.TempDir(), "repaired")
	for _, spec := range []job.Spec{{Shell: "true"}, {After: []job.After{{Job: "starts"}}, Shell: "test -e " + repaired}} {
		name := "starts"
		if spec.Step() {
			name = "ends"
		}
		if _, _, err := c.Client.PutJob(t.Context(), name, spec, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	v, _, err := c.Client.Submit(t.Context(), "starts", api.RunRequest{Workflow: true})
	if err != nil {
		t.Fatal(err)
	}
	failed := "ends/" + strings.TrimPrefix(v.Ref, "starts/")
	runIs("/runs/"+failed, job.Failed)
	files.Write(t, repaired, "")
	b.open(base + "/jobs/starts/workflow")
	b.await(10*time.Second, "the grid offers to resume", "document.querySelector('a.resume')")
	b.eval("document.querySelector('a.resume').click(); 0")
	b.await(10*time.Second, "the dialog is open", "document.querySelector('#dialog').open && document.querySelector('#dialog form.action button')")
	press(b, nil)
	b.await(15*time.Second, "the page of the new run", "location.pathname.startsWith('/runs/ends/')")
	if v, err := c.Client.Run(t.Context(), runIs(path(b), job.Succeeded)); err != nil || v.RetryOf != failed {
		t.Errorf("the resumed step repeats %q, %v, want %s", v.RetryOf, err, failed)
	}
}
