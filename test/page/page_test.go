package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// jobs are the jobs of the cluster. One fails, one takes long, one runs at night, and many fill the lists.
func jobs() map[string]job.Spec {
	all := map[string]job.Spec{
		"tick":           {Description: "Every second", Every: job.Duration(time.Second), Shell: "echo tick"},
		"fails":          {Every: job.Duration(2 * time.Second), Shell: "echo broken >&2; exit 3"},
		"report":         {After: []job.After{{Job: "nightly-backup"}}, Shell: "true"},
		"waits":          {Description: "Runs on request", Shell: "true"},
		"slow-past":      {Every: job.Duration(time.Hour), Shell: "sleep 60"},
		"trading":        {Schedule: []string{"0 9 * * *"}, Calendar: &job.Calendar{On: "exchange", Weekdays: []string{"mon-fri"}, Except: []string{"2099-12-25"}}, Shell: "true"},
		"colors":         {Shell: `printf '\033[31mred\033[0m <b>plain</b>\n'`},
		"long":           {Shell: `printf '\033]8;;http://a/\033\\link\033]8;;\033\\ 50%%\r\033(Bbegun\n'; sleep 120`},
		"asks":           {Shell: "echo paid", Overlap: job.OverlapAllow, Approve: &job.Approve{By: []string{"sre"}, Within: job.Duration(time.Hour)}},
		"nightly-backup": {Description: "Dump the database", Labels: map[string]string{"team": strings.Repeat("a", 63)}, Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Shell: "true"},
	}
	for i := range 60 {
		all[fmt.Sprintf("warehouse-%02d", i)] = job.Spec{
			Description: "Copies a part of the orders", Schedule: []string{fmt.Sprintf("%d %d * * *", i, i%24)}, Shell: "true",
		}
	}
	return all
}

// TestPage uses the page as people do.
func TestPage(t *testing.T) {
	b := newBrowser(t)
	c := cluster.Start(t, cluster.Config{Binary: binary, Jobs: jobs()})
	base := c.Replicas()[0].URL
	if c.Leader() == c.Replicas()[0] {
		base = c.Replicas()[1].URL // a page of a replica that lives on
	}
	t.Run("every view", func(t *testing.T) { b.t = t; everyView(t, b, base) })
	t.Run("every operation", func(t *testing.T) { b.t = t; everyOperation(t, b, c, base) })
	t.Run("every action", func(t *testing.T) { b.t = t; everyAction(t, b, c, base) })
	t.Run("every examination", func(t *testing.T) { b.t = t; examinations(t, b, c, base) })
	t.Run("imports", func(t *testing.T) { b.t = t; imports(t, b, c, base) })
	t.Run("a wrong value", func(t *testing.T) { b.t = t; wrongValue(t, b, base) })
	t.Run("the keyboard alone", func(t *testing.T) { b.t = t; keyboard(t, b, c, base) })
	t.Run("without scripts", func(t *testing.T) { b.t = t; withoutScripts(t, b, base) })
	t.Run("without event streams", func(t *testing.T) { withoutStreams(t, base) })
	t.Run("a silent stream", func(t *testing.T) { silentStream(t, c, base) })
	t.Run("live output", func(t *testing.T) { liveOutput(t, c, base) })
	t.Run("the next attempt", func(t *testing.T) { b.t = t; nextAttempt(t, b, c, base) })
	t.Run("a job that is gone", func(t *testing.T) { b.t = t; goneJob(t, b, c, base) })
	t.Run("the focus is in sight", func(t *testing.T) { b.t = t; focusInSight(b, base) })
	t.Run("the focus stays", func(t *testing.T) { b.t = t; focusStays(t, b, base) })
	t.Run("the focus returns", func(t *testing.T) { b.t = t; focusReturns(t, b, base) })
	t.Run("nothing moves", func(t *testing.T) { b.t = t; nothingMoves(t, b, base) })
	t.Run("the leader is killed", func(t *testing.T) { b.t = t; leaderKilled(t, b, c, base) })
	b.t = t
	if list := b.complained("/nowhere", "/do/", "/jobs/gone"); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
}

func everyView(t *testing.T, b *browser, base string) {
	b.open(base + "/jobs/tick")
	b.await(20*time.Second, "a run of tick is listed", `document.querySelector('.rows tbody a[href^="/runs/"]')`)
	run, _ := b.eval(`document.querySelector('.rows tbody a[href^="/runs/"]').getAttribute('href')`).(string)
	var costs []cost
	for _, view := range [][2]string{
		{"/", "Cluster"}, {"/jobs", "nightly-backup"}, {"/jobs/tick", "every second"}, {"/jobs/nightly-backup", "every day at 02:30"},
		{run, "tick"}, {"/runs", "succeeded"}, {"/workers", "q1"}, {"/limits", "No limits"}, {"/cluster", "leader"}, {"/audit", "Audit"}, {"/events", "Events"}, {"/jobs/report", "Workflow"},
		{"/jobs/report/workflow", "Slots and steps"},
		{"/timeline", "planned"}, {"/timeline?span=7d", "planned"}, {"/timeline/week", "The busiest minutes"}, {"/calendars", "exchange"}, {"/tokens", "no token"},
		{"/jobs/tick/at?time=2020-01-01T00:00:00Z", "Not scheduled"}, {"/schedule?schedule=30+2+*+*+*&timezone=Europe%2FBerlin&from=2026-03-28T00:00:00Z", "CEST"},
		{"/do/new", "Definition"}, {"/do/edit?job=tick", "is defined in"}, {"/do/run?job=nightly-backup", "report"}, {"/do/backfill?job=nightly-backup", "First slot"},
		{"/do/apply", "Job file"}, {"/do/import", "crontab"}, {"/do/verify", "invariants"}, {"/do/doctor", "its own machine"}, {"/do/command", "/bin/sh"}, {"/do/token", "Principal"}, {"/api", "submit-run"}, {"/nowhere", "no page"},
	} {
		b.open(base + view[0])
		if !strings.Contains(b.html("main"), view[1]) {
			t.Errorf("%s lacks %q: %.300s", view[0], view[1], b.text("main"))
		}
		if errors := b.complained("/nowhere"); errors != "" {
			t.Errorf("%s: %s", view[0], errors)
		}
		costs = append(costs, costOf(b, view[0]))
		b.picture("view", view[0])
	}
	checkCosts(t, costs)
	b.open(base + "/jobs/fails") // its runs have ended, all of them without success
	if !strings.Contains(b.html("main"), "no run has succeeded") {
		t.Errorf("the page of a job that always fails: got %.300s", b.text("main"))
	}
}

// submit opens the form of an action, fills it in, and sends it.
func submit(b *browser, base, path string, fields map[string]string) {
	b.t.Helper()
	b.open(base + path)
	for name, value := range fields {
		b.eval(fmt.Sprintf("document.querySelector('form.action [name=%s]').value = %q; 0", name, value))
	}
	b.eval("document.querySelector('form.action button').click(); 0")
	b.await(15*time.Second, "the answer to "+path, "location.pathname !== '"+strings.Split(path, "?")[0]+"' || document.querySelector('form.action .error')")
}

func everyAction(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	ctx := t.Context()
	jobIs := func(what, name string, ok func(v api.JobView, err error) bool) {
		t.Helper()
		cluster.Await(t, 10*time.Second, what, func() bool { return ok(c.Client.Job(ctx, name)) })
	}
	runIs := func(path string, states ...job.State) (ref string) {
		t.Helper()
		ref = strings.TrimPrefix(path, "/runs/")
		ref = strings.ReplaceAll(ref, "%3A", ":")
		cluster.Await(t, 20*time.Second, fmt.Sprintf("%s is %v", ref, states), func() bool {
			v, err := c.Client.Run(ctx, ref)
			for _, s := range states {
				if err == nil && v.State == s {
					return true
				}
			}
			return false
		})
		return ref
	}
	here := func() string { s, _ := b.eval("location.pathname").(string); return s }

	submit(b, base, "/do/pause?job=tick", map[string]string{"reason": "a migration"})
	jobIs("tick is paused", "tick", func(v api.JobView, err error) bool {
		return err == nil && v.Paused != nil && v.Paused.Reason == "a migration"
	})
	submit(b, base, "/do/resume?job=tick", nil)
	jobIs("tick goes on", "tick", func(v api.JobView, err error) bool { return err == nil && v.Paused == nil })

	b.open(base + "/jobs") // selects two jobs, and pauses them
	b.eval("document.querySelectorAll('[name=jobs]').forEach(e => { e.checked = ['fails', 'colors'].includes(e.value); }); document.querySelector('#bulk button').click(); 0")
	b.await(10*time.Second, "the confirmation names both jobs", "document.querySelector('form.action h1')?.textContent === 'Pause 2 jobs'")
	b.eval("document.querySelector('form.action button').click(); 0")
	b.await(10*time.Second, "the jobs are paused", "location.pathname === '/jobs' && document.readyState === 'complete'")
	for _, name := range []string{"fails", "colors"} {
		jobIs(name+" is paused", name, func(v api.JobView, err error) bool { return err == nil && v.Paused != nil })
	}
	submit(b, base, "/do/resume-jobs?jobs=fails&jobs=colors", nil)
	jobIs("colors goes on", "colors", func(v api.JobView, err error) bool { return err == nil && v.Paused == nil })

	submit(b, base, "/do/run?job=colors", map[string]string{"payload": `{"a": 1}`})
	ref := runIs(here(), job.Succeeded)
	if v, err := c.Client.Run(ctx, ref); err != nil || string(v.Payload) != `{"a":1}` && string(v.Payload) != `{"a": 1}` {
		t.Errorf("payload of %s: got %s, %v", ref, v.Payload, err)
	}
	b.await(10*time.Second, "the output is shown with its color", "document.querySelector('#output .a-1')?.textContent === 'red' && document.querySelector('#output').textContent.includes('plain')")
	if got := b.text("#output"); got != "red <b>plain</b>" {
		t.Errorf("output: got %q", got)
	}
	submit(b, base, "/do/retry?job=colors&run="+strings.TrimPrefix(ref, "colors/"), nil)
	if v, err := c.Client.Run(ctx, runIs(here(), job.Succeeded)); err != nil || v.RetryOf != ref {
		t.Errorf("retry of %s: got %q, %v", ref, v.RetryOf, err)
	}

	submit(b, base, "/do/run?job=long", nil)
	ref = runIs(here(), job.Running)
	b.await(15*time.Second, "live output", "document.querySelector('#output')?.textContent.includes('begun')")
	if got := b.text("#output"); got != "link 50% begun" {
		t.Errorf("live output: got %q", got)
	}
	submit(b, base, "/do/cancel?job=long&run="+strings.TrimPrefix(ref, "long/"), map[string]string{"reason": "not needed"})
	runIs("/runs/"+ref, job.Canceled)

	approvals(t, b, c, base, runIs)

	submit(b, base, "/do/new", map[string]string{"name": "made-here", "definition": "every: 1h\nshell: echo one\n"})
	jobIs("the job exists", "made-here", func(v api.JobView, err error) bool { return err == nil && v.Spec.Shell == "echo one" })
	submit(b, base, "/do/edit?job=made-here", map[string]string{"definition": "every: 2h\nshell: echo two\n"})
	jobIs("the job is changed", "made-here", func(v api.JobView, err error) bool { return err == nil && v.Spec.Shell == "echo two" })
	submit(b, base, "/do/delete?job=made-here", nil)
	jobIs("the job is gone", "made-here", func(_ api.JobView, err error) bool { return err != nil })

	submit(b, base, "/do/command", map[string]string{"shell": "echo ad hoc"})
	runIs(here(), job.Succeeded)

	submit(b, base, "/do/limit", map[string]string{"name": "database", "runs": "3"})
	if list, err := c.Client.Limits(ctx); err != nil || len(list) != 1 || list[0].Spec.Concurrent != 3 {
		t.Errorf("limits: got %v, %v", list, err)
	}
	submit(b, base, "/do/delete-limit?name=database", nil)
	if list, err := c.Client.Limits(ctx); err != nil || len(list) != 0 {
		t.Errorf("limits after the deletion: got %v, %v", list, err)
	}

	b.open(base + "/audit")
	for _, want := range []string{"pause-job", "submit-command", "put-job", "delete-job"} {
		if !strings.Contains(b.text("main"), want) {
			t.Errorf("the audit view lacks %s: %.300s", want, b.text("main"))
		}
	}

	manyActions(t, b, c, base, runIs)

	paused := func() bool { v, err := c.Client.Cluster(ctx); return err == nil && v.Paused != nil }
	submit(b, base, "/do/pause-all", map[string]string{"reason": "drill"})
	cluster.Await(t, 10*time.Second, "all jobs are paused", paused)
	submit(b, base, "/do/resume-all", nil)
	cluster.Await(t, 10*time.Second, "all jobs go on", func() bool { return !paused() })
}

// wrongValue proves that a form keeps what was typed, and says beside the field what is wrong.
func wrongValue(t *testing.T, b *browser, base string) {
	for _, tc := range []struct{ path, field, value, want string }{
		{"/do/run?job=colors", "payload", "{broken", "not JSON"},
		{"/do/run?job=colors", "in", "soon", "not a time span"},
		{"/do/new", "definition", "every: 1h\nshel: echo\n", "shel"},
		{"/do/new", "name", "Not A Name", "name"},
	} {
		fields := map[string]string{tc.field: tc.value}
		if strings.HasPrefix(tc.path, "/do/new") && tc.field == "definition" {
			fields["name"] = "new-job"
		}
		submit(b, base, tc.path, fields)
		kept, _ := b.eval(fmt.Sprintf("document.querySelector('[name=%s]').value", tc.field)).(string)
		if strings.TrimSpace(kept) != strings.TrimSpace(tc.value) {
			t.Errorf("%s: the form lost %q and has %q", tc.path, tc.value, kept)
		}
		if got := b.text(".wrong .error"); !strings.Contains(got, tc.want) {
			t.Errorf("%s, %s %q: got error %q, want %q", tc.path, tc.field, tc.value, got, tc.want)
		}
	}
}

func keyboard(t *testing.T, b *browser, c *cluster.Cluster, base string) {
	b.open(base + "/")
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("j"))
	b.await(5*time.Second, "g j opens the jobs", "location.pathname === '/jobs' && document.readyState === 'complete'")
	b.do(chromedp.KeyEvent("/"))
	b.await(5*time.Second, "/ goes to the search", "document.activeElement.id === 'search'")
	b.eval("document.activeElement.value = ''; 0") // this browser also types the / that the page has handled
	b.do(chromedp.KeyEvent("night\r"))
	b.await(5*time.Second, "the search finds one job", "location.search === '?search=night' && document.readyState === 'complete' && document.querySelectorAll('.rows tbody tr').length === 1")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	b.await(5*time.Second, "j and Enter open the job", "location.pathname === '/jobs/nightly-backup' && document.readyState === 'complete'")
	b.open(base + "/runs")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	b.await(5*time.Second, "j and Enter open the run", "location.pathname.startsWith('/runs/') && document.readyState === 'complete'")
	b.open(base + "/jobs/nightly-backup")
	b.do(chromedp.KeyEvent("?"))
	b.await(5*time.Second, "? lists the keys", "document.querySelector('#keys').open")
	b.do(chromedp.KeyEvent("\x1b"))
	for tabs := 0; b.text(":focus") != "Pause"; tabs++ {
		if tabs > 60 {
			t.Fatal("the tab key does not lead to Pause")
		}
		b.do(chromedp.KeyEvent("\t"))
	}
	b.do(chromedp.KeyEvent("\r"))
	b.await(5*time.Second, "the dialog has the focus", "document.querySelector('#dialog').open && document.activeElement.name === 'reason'")
	b.do(chromedp.KeyEvent("by keyboard"))
	b.eval("document.querySelector('#dialog').click(); 0") // as a click beside the field, or a selection that ends there
	if open, _ := b.eval("document.querySelector('#dialog').open").(bool); !open {
		t.Fatal("a click beside the field closes the dialog, and loses what was typed")
	}
	b.do(chromedp.KeyEvent("\r"))
	cluster.Await(t, 10*time.Second, "the job is paused", func() bool {
		v, err := c.Client.Job(t.Context(), "nightly-backup")
		return err == nil && v.Paused != nil && v.Paused.Reason == "by keyboard"
	})
	if _, err := c.Client.ResumeJob(t.Context(), "nightly-backup", ""); err != nil {
		t.Error(err)
	}
}

func withoutScripts(t *testing.T, b *browser, base string) {
	b.scripts(false)
	defer b.scripts(true)
	for path, want := range map[string]string{"/": "Last hour", "/jobs": "nightly-backup", "/jobs/tick": "succeeded", "/do/pause?job=tick": "No further slot", "/timeline": "succeeded", "/timeline/week": "busiest",
		"/jobs/nightly-backup": "every day at 02:30", "/jobs/report/workflow": "Slots and steps", "/runs": "Took", "/workers": "q1", "/limits": "two-at-a-time", "/calendars": "exchange",
		"/cluster": "Terms", "/events": "Events", "/audit": "pause-job", "/api": "operations", "/tokens": "no token", "/schedule?schedule=90s": "Next slots",
		"/jobs/tick/at?time=2020-01-01T00:00:00Z": "Not scheduled", "/do/backfill?job=tick": "First slot", "/do/apply": "Job file", "/do/import": "Translate", "/do/doctor": "Examine", "/do/verify": "Verify", "/nowhere": "no page",
	} {
		b.do(chromedp.Navigate(base + path))
		got, err := chromedp.Run(b.ctx, chromedp.Text("main"))
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s without scripts: got %.200q, %v, want %q", path, got, err, want)
		}
	}
}
