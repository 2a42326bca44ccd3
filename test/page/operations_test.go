package page

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// forms has the path of a form for each operation of the API that changes something.
var forms = map[string]string{
	"submit-run": "/do/run?job=tick", "submit-command": "/do/command", "pause-job": "/do/pause?job=tick", "resume-job": "/do/resume?job=tick",
	"put-job": "/do/new", "delete-job": "/do/delete?job=tick", "pause-all": "/do/pause-all", "resume-all": "/do/resume-all",
	"cancel-run": "/do/cancel-runs", "retry-run": "/do/retry-runs", "approve-run": "/do/approve?job=asks&run=RUN", "reject-run": "/do/reject?job=asks&run=RUN",
	"start-backfill": "/do/backfill?job=nightly-backup", "stop-backfill": "/do/stop-backfill?job=warehouse-01", "put-limit": "/do/limit",
	"delete-limit": "/do/delete-limit?name=kept", "create-token": "/do/token", "rotate-token": "/do/rotate-token?token=TOKEN",
	"revoke-token": "/do/revoke-token?token=TOKEN", "accept-restored-store": "/do/accept-restored",
	"import-schedules": "/do/import", "verify-store": "/do/verify", "examine-cluster": "/do/doctor",
}

// elsewhere has the operations that change something and need no form, with the reason.
var elsewhere = map[string]string{
	"deliver-hook":      "the sender of a webhook signs it",
	"create-login-code": "rota open signs a browser in with it",
}

// everyOperation opens a form for each operation of the OpenAPI document that changes something. A new operation needs a form.
func everyOperation(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/openapi.json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Paths) < 20 {
		t.Fatalf("read the document: %v, %.300s", err, text)
	}
	run, _, err := c.Client.Submit(t.Context(), "asks", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.PutLimit(t.Context(), "kept", job.LimitSpec{Concurrent: 1}, api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	token, err := c.Client.CreateToken(t.Context(), api.CreateTokenRequest{
		ID: "abcdefghijkm", Hash: strings.Repeat("0", 64), Principal: "nobody", Role: "viewer",
	})
	if err != nil {
		t.Fatal(err)
	}
	yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	if _, err := c.Client.StartBackfill(t.Context(), "warehouse-01", api.BackfillRequest{From: yesterday, To: yesterday.Add(23 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(forms)
	replace := strings.NewReplacer("RUN", strings.TrimPrefix(run.Ref, "asks/"), "TOKEN", token.ID)
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			form, reason := forms[operation.ID], elsewhere[operation.ID]
			switch {
			case method == "get":
			case (form == "") == (reason == ""):
				t.Errorf("%s, %s %s: the page needs either a form or a reason", operation.ID, method, path)
			case form != "":
				b.open(base + replace.Replace(form))
				if got := b.text("form.action h1"); got == "" || len(b.text("form.action")) < len(got)+20 {
					t.Errorf("%s: %s is no form that says what it touches: %.200s", operation.ID, form, b.text("main"))
				}
				delete(left, operation.ID)
			}
		}
	}
	for id := range left {
		t.Errorf("the document lacks %s", id)
	}
	b.open(base + "/tokens")
	b.picture("full", "/tokens")
	if _, err := c.Client.Cancel(t.Context(), run.Ref, ""); err != nil {
		t.Error(err)
	}
	if err := c.Client.RevokeToken(t.Context(), token.ID); err != nil {
		t.Error(err)
	}
	if err := c.Client.DeleteLimit(t.Context(), "kept", api.Precondition{}); err != nil {
		t.Error(err)
	}
}

// press fills in the open form and presses its button.
func press(b *browser, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		b.eval(fmt.Sprintf("document.querySelector('form.action [name=%s]').value = %q; 0", name, value))
	}
	b.eval("document.querySelector('form.action button').click(); 0")
}

// confirmed opens a form that first shows what it would do, and confirms that. It returns what the form showed.
func confirmed(b *browser, base, path string, fields map[string]string, verb string) string {
	b.t.Helper()
	b.open(base + path)
	press(b, fields)
	b.await(15*time.Second, path+" asks for the confirmation "+verb, "document.querySelector('form.action button')?.textContent.startsWith('"+verb+"') && document.readyState === 'complete'")
	shown := b.text("form.action")
	b.picture("confirm", path)
	press(b, nil)
	b.await(15*time.Second, "the answer to "+path, "location.pathname !== '"+strings.Split(path, "?")[0]+"'")
	return shown
}

// manyActions performs the actions that change many things, and finds the effects in the store.
func manyActions(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	ctx := t.Context()
	backfills(t, b, c, base, runIs)
	selectedRuns(t, b, c, base, runIs)
	tokens(t, b, c, base)
	resumes(t, b, c, base, runIs)

	file := "version: 1\nlimits: {two-at-a-time: {concurrent: 2}}\njobs:\n" +
		"  child-of-file: {after: [parent-of-file], labels: {team: files}, shell: \"true\"}\n" +
		"  parent-of-file: {every: 1h, labels: {team: files}, limits: [two-at-a-time], shell: \"true\"}\n"
	shown := confirmed(b, base, "/do/apply", map[string]string{"file": file}, "Change 3 definitions")
	if !strings.Contains(shown, "job parent-of-file created; the next slot: ") || strings.Index(shown, "job parent") > strings.Index(shown, "job child") {
		t.Errorf("the form shows %.600s", shown)
	}
	for _, name := range []string{"parent-of-file", "child-of-file"} {
		if v, err := c.Client.Job(ctx, name); err != nil || v.Spec.Shell != "true" {
			t.Errorf("job %s after the file: got %+v, %v", name, v.Spec, err)
		}
	}
	b.open(base + "/jobs?selector=team%3Dfiles")
	if got := b.text("main tbody"); !strings.Contains(got, "child-of-file") || strings.Contains(got, "warehouse") {
		t.Errorf("the jobs with the label of the file: got %.300s", got)
	}
	less := strings.Replace(strings.Replace(file, "every: 1h", "every: 2h", 1), "  child", "  #", 1)
	shown = confirmed(b, base, "/do/apply", map[string]string{"file": less, "others": "remove", "selector": "team=files"}, "Change 2 definitions")
	if !strings.Contains(shown, "job parent-of-file changed: every") || !strings.Contains(shown, "job child-of-file removed") {
		t.Errorf("the form shows %.600s", shown)
	}
	if v, err := c.Client.Job(ctx, "parent-of-file"); err != nil || v.Spec.Every != job.Duration(2*time.Hour) {
		t.Errorf("the changed job: got %+v, %v", v.Spec, err)
	}
	b.open(base + "/jobs/parent-of-file")
	if got := b.text("[data-live=definition]"); strings.Count(got, "put-job") != 2 || !strings.Contains(got, "History") {
		t.Errorf("the history of the definition: got %.600s", got)
	}
	if _, err := c.Client.Job(ctx, "child-of-file"); err == nil {
		t.Error("the removed job exists")
	}
	submit(b, base, "/do/apply", map[string]string{"file": "version: 1\njobs:\n  x: {evry: 1h, shell: true}\n"})
	if got := b.text(".wrong .error"); !strings.Contains(got, "line 3:") || !strings.Contains(got, "evry") {
		t.Errorf("a mistake in a file: got %q", got)
	}
	b.picture("wrong", "/do/apply")

	submit(b, base, "/do/run?job=nightly-backup", map[string]string{"workflow": "with these steps"})
	ref := runIs(path(b), job.Succeeded)
	runIs("/runs/report/"+strings.TrimPrefix(ref, "nightly-backup/"), job.Succeeded)
	valuesAreShown(t, b, c, base, runIs)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	submit(b, base, "/do/run?job=colors", map[string]string{"in": at.Format(time.RFC3339)})
	if v, err := c.Client.Run(ctx, runIs(path(b), job.Pending)); err != nil || !v.Due.Equal(at) {
		t.Errorf("a run at %v: got %v, %v", at, v.Due, err)
	}
}

// valuesAreShown proves that the page of a run has its inputs and outputs.
func valuesAreShown(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	const twice = "echo twice=$((ROTA_INPUT_GIVES_TOTAL * 2)) >> $ROTA_OUTPUT"
	for _, spec := range []job.Spec{{Shell: "echo total=41 >> $ROTA_OUTPUT"}, {After: []job.After{{Job: "gives"}}, Shell: twice}} {
		name := "gives"
		if spec.Step() {
			name = "takes"
		}
		if _, _, err := c.Client.PutJob(t.Context(), name, spec, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	submit(b, base, "/do/run?job=gives", map[string]string{"workflow": "with these steps"})
	ref := runIs(path(b), job.Succeeded)
	step := "/runs/takes/" + strings.TrimPrefix(ref, "gives/")
	runIs(step, job.Succeeded)
	b.open(base + step)
	if got := b.text("[data-live=values]"); !strings.Contains(got, "from givestotal41") || !strings.Contains(got, "outputtwice82") {
		t.Errorf("inputs and outputs: got %q", got)
	}
	b.picture("full", "/runs/takes")
}

// path returns the path of the open page.
func path(b *browser) string {
	s, _ := b.eval("location.pathname").(string)
	return s
}

func backfills(t *testing.T, b *browser, c *cluster.Cluster, base string, runIs func(string, ...job.State) string) {
	day := time.Now().UTC().Truncate(24 * time.Hour)
	given := map[string]string{"from": day.AddDate(0, 0, -4).Format(time.RFC3339), "to": day.AddDate(0, 0, -1).Format(time.RFC3339), "order": "desc"}
	shown := confirmed(b, base, "/do/backfill?job=warehouse-05", given, "Run 3 slots")
	if !strings.Contains(shown, "3 of 3 slots in this range would run") {
		t.Errorf("the form shows %.600s", shown)
	}
	b.await(20*time.Second, "the page of the job shows the backfill", "document.querySelector('[data-live=backfill]').textContent.includes('3 of 3')")
	for n := 1; n <= 3; n++ {
		runIs("/runs/warehouse-05/"+job.SlotID(day.AddDate(0, 0, -n).Add(-19*time.Hour+5*time.Minute)), job.Succeeded)
	}
	if v, err := c.Client.Backfill(t.Context(), "warehouse-05"); err != nil || v.Started != 3 || v.Order != job.NewestFirst {
		t.Errorf("the backfill: got %+v, %v", v, err)
	}
	b.picture("full", "/jobs/warehouse-05")
	b.open(base + "/runs")
	if got := b.text("[data-live=backfills]"); !strings.Contains(got, "warehouse-05") {
		t.Errorf("the runs show the backfills %q", got)
	}
	confirmed(b, base, "/do/backfill?job=slow-past", map[string]string{"from": given["from"], "to": given["to"]}, "Run ")
	b.await(20*time.Second, "the backfill can be stopped", "document.querySelector('[data-live=backfill] a.danger')")
	submit(b, base, "/do/stop-backfill?job=slow-past", nil)
	if v, err := c.Client.Backfill(t.Context(), "slow-past"); err != nil || v.State != job.BackfillStopped {
		t.Errorf("the backfill after its stop: got %+v, %v", v.State, err)
	}
	submit(b, base, "/do/backfill?job=warehouse-05", map[string]string{"from": "yesterday", "to": given["to"]})
	if got := b.text(".wrong .error"); !strings.Contains(got, "not a time") {
		t.Errorf("a wrong time: got %q", got)
	}
}
