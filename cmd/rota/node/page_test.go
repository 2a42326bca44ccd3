package node

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// read reads a path of a node, as a browser does.
func (r *running) read(t testing.TB, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.node.set.HTTP.Listen+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: got %d, %v: %.300s", path, res.StatusCode, err, text)
	}
	return string(text)
}

// define puts jobs into the store of a node.
func (r *running) define(t testing.TB, jobs map[string]job.Spec) {
	t.Helper()
	for name, spec := range jobs {
		if _, _, err := r.PutJob(t.Context(), name, spec, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTimelineShowsRunsAndSlots reads the time line of a real store.
func TestTimelineShowsRunsAndSlots(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.define(t, map[string]job.Spec{
		"tick":    {Every: job.Duration(time.Second), Shell: "true"},
		"daily":   {Schedule: []string{"30 2 * * *"}, Jitter: job.Duration(time.Hour), Shell: "true"},
		"asleep":  {Schedule: []string{time.Now().UTC().Add(12 * time.Hour).Format("4 15 * * *")}, Shell: "true"},
		"request": {Shell: "true"},
		"asks":    {Shell: "true", Approve: &job.Approve{}},
		"later":   {Shell: "true"},
	})
	r.define(t, map[string]job.Spec{"step": {After: []job.After{{Job: "daily"}}, Shell: "true"}})
	if _, err := r.PauseJob(t.Context(), "asleep", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a run of tick has ended", func() bool {
		v, err := r.Job(t.Context(), "tick")
		return err == nil && v.Last != nil && v.Last.State == job.Succeeded
	})
	row := func(name, span string) (found bool, row api.GanttRow) {
		now := time.Now().UTC()
		length, err := time.ParseDuration(span)
		if err != nil {
			t.Fatal(err)
		}
		var v api.GanttView
		path := "/v1/gantt?from=" + now.Add(-length).Format(time.RFC3339) + "&until=" + now.Add(length).Format(time.RFC3339)
		if err := json.Unmarshal([]byte(r.read(t, path)), &v); err != nil {
			t.Fatal(err)
		}
		for _, row := range v.Rows {
			if row.Job == name {
				return true, row
			}
		}
		return false, api.GanttRow{}
	}
	if found, v := row("tick", "5m"); !found || len(v.Runs) == 0 || v.Planned < 295 || v.Planned > 301 || len(v.Slots) > 200 {
		t.Errorf("tick: got %d runs, %d slots in %d parts, want some runs and 300 slots", len(v.Runs), v.Planned, len(v.Slots))
	}
	if found, v := row("daily", "36h"); !found || v.Planned == 0 || v.Slots[0].Count != 1 {
		t.Errorf("daily: got %+v, want its next slots", v)
	}
	for name, in := range map[string]string{"asks": "", "later": "30m"} {
		if _, _, err := r.Submit(t.Context(), name, api.RunRequest{In: in}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the run of "+name+" waits", func() bool {
			found, v := row(name, "1h")
			return found && v.Counts[job.Pending] == 1 && len(v.Runs) == 1 && !v.Runs[0].Waits.IsZero()
		})
	}
	if found, v := row("later", "10m"); found {
		t.Errorf("the run that waits for its time is in a span before that time: %+v", v)
	}
	for _, name := range []string{"asleep", "request"} {
		if found, v := row(name, "36h"); found {
			t.Errorf("%s has neither runs nor slots, but a row: %+v", name, v)
		}
	}

	var load api.LoadView
	if err := json.Unmarshal([]byte(r.read(t, "/v1/load")), &load); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range load.Minutes {
		sum += n
	}
	if want := api.LoadMinutes*60 + 7; load.Jobs != 2 || load.Paused != 1 || load.Steps != 1 || sum != want {
		t.Errorf("load: got %d jobs, %d paused, %d steps, %d begins, want 2, 1, 1, %d", load.Jobs, load.Paused, load.Steps, sum, want)
	}
	if _, err := r.ResumeJob(t.Context(), "asleep", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load follows the definitions", func() bool {
		var v api.LoadView
		return json.Unmarshal([]byte(r.read(t, "/v1/load")), &v) == nil && v.Jobs == 3
	})

	var month api.MonthView
	if err := json.Unmarshal([]byte(r.read(t, "/v1/jobs/tick/month")), &month); err != nil {
		t.Fatal(err)
	}
	if day := month.Days[time.Now().UTC().Day()-1]; day.Slots != 86400 || day.Counts[job.Succeeded] == 0 || len(day.First) != 3 {
		t.Errorf("the month of tick: got %+v for today", day)
	}

	for path, want := range map[string]string{
		"/jobs/daily?month=2027-03": "March 2027", "/jobs/tick": "86,400 slots", "/timeline?span=15m": `>tick</a>`, "/timeline?search=dai&span=7d": `>daily</a>`, "/timeline/week": "The busiest minutes",
		"/timeline?state=failing": "No job that matches", "/timeline?from=2020-01-01T00:00:00Z": "No job has a run or a slot",
	} {
		if text := r.read(t, path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}

// send sends a form of the page, and returns the path of the page after it; empty if the form is shown again.
func (r *running) send(t testing.TB, path string, values url.Values) (next, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, "http://"+r.node.set.HTTP.Listen+path, strings.NewReader(values.Encode()),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Header.Get("Location"), string(body)
}

// TestPageChangesSelectedJobs pauses, resumes and runs several jobs by the page.
func TestPageChangesSelectedJobs(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.define(t, map[string]job.Spec{
		"one": {Shell: "true"}, "two": {Shell: "true"}, "three": {Shell: "true"},
		"strict": {Shell: "true", Params: map[string]job.Param{"month": {Type: job.ParamString, Required: true}}},
	})
	eventually(t, "the list has a box for each job", func() bool { return strings.Count(r.read(t, "/jobs"), `name="jobs"`) == 4 })
	selected := url.Values{"jobs": {"two", "one", "two", "none"}}
	for _, want := range []string{"Pause 2 jobs", "<b>one</b>", "there is no job &#34;none&#34;"} {
		if text := r.read(t, "/do/pause-jobs?"+selected.Encode()); !strings.Contains(text, want) {
			t.Errorf("the confirmation lacks %q: %s", want, text)
		}
	}
	paused := func() (names string) {
		for _, name := range []string{"one", "two", "three"} {
			if v, err := r.Job(t.Context(), name); err == nil && v.Paused != nil {
				names += name + " by " + v.Paused.Reason + "; "
			}
		}
		return names
	}
	selected.Set("reason", "a migration")
	if next, text := r.send(t, "/do/pause-jobs", selected); next != "/jobs?done=paused-jobs" {
		t.Errorf("pause: got %q %s", next, text)
	}
	if got := paused(); got != "one by a migration; two by a migration; " {
		t.Errorf("paused: got %s", got)
	}
	if next, _ := r.send(t, "/do/resume-jobs", url.Values{"jobs": {"one", "two"}}); next != "/jobs?done=resumed-jobs" || paused() != "" {
		t.Errorf("resume: got %q, still paused: %s", next, paused())
	}

	// A form that is sent twice creates one run of each job, and a job that refuses does not stop the others.
	values := url.Values{"jobs": {"one", "strict", "three"}, "key": {"the-key-of-this-form"}}
	for range 2 {
		next, text := r.send(t, "/do/run-jobs", values)
		if next != "" || !strings.Contains(text, "1 of 3 jobs refused") || !strings.Contains(text, "month") {
			t.Errorf("run: got %q, want a refusal of one job: %.2000s", next, text)
		}
	}
	for name, want := range map[string]int{"one": 1, "two": 0, "three": 1, "strict": 0} {
		page, err := r.Runs(t.Context(), client.RunFilter{Job: name, Limit: 10}, "")
		if err != nil || len(page.Runs) != want {
			t.Errorf("%s: got %d runs, %v, want %d", name, len(page.Runs), err, want)
		}
	}
	if text := r.read(t, "/do/run-jobs"); !strings.Contains(text, "No job is selected") {
		t.Error("an empty selection has no explanation")
	}
}

// TestPageResumesAWorkflow finds a failed step in the grid of a workflow, and resumes from it.
func TestPageResumesAWorkflow(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	flag := filepath.Join(t.TempDir(), "repaired")
	r.define(t, map[string]job.Spec{"extract": {Shell: "true"}, "alone": {Shell: "true"}})
	r.define(t, map[string]job.Spec{"convert": {Shell: "test -e " + flag, After: []job.After{{Job: "extract"}}}})
	r.define(t, map[string]job.Spec{"report": {Shell: "true", After: []job.After{{Job: "convert"}}}})
	first, _, err := r.Submit(t.Context(), "extract", api.RunRequest{Workflow: true})
	if err != nil {
		t.Fatal(err)
	}
	r.reaches(t, "report/"+first.ID, job.Skipped)
	grid := r.read(t, "/jobs/report/workflow")
	for _, want := range []string{">extract</a>", ">convert</a>", "succeeded", "skipped", "parent convert failed", "/do/resume-workflow?job=convert"} {
		if !strings.Contains(grid, want) {
			t.Errorf("the grid lacks %q", want)
		}
	}
	if strings.Contains(grid, "/do/resume-workflow?job=extract") || strings.Contains(grid, "alone") {
		t.Error("the grid resumes from a step that succeeded, or has a job of no workflow")
	}
	if text := r.read(t, "/do/resume-workflow?job=convert&run="+first.ID); !strings.Contains(text, "run again, if their conditions are met: report.") {
		t.Errorf("the confirmation does not say what runs again: %.3000s", text)
	}
	files.Replace(t, flag, "")
	form := url.Values{"job": {"convert"}, "run": {first.ID}, "key": {"k"}}
	next, text := r.send(t, "/do/resume-workflow", form)
	id, found := strings.CutPrefix(next, "/runs/convert/")
	if !found {
		t.Fatalf("resume: got %q: %.2000s", next, text)
	}
	if again, text := r.send(t, "/do/resume-workflow", form); again != next {
		t.Errorf("sent again: got %q, want %q: %.2000s", again, next, text)
	}
	id, _, _ = strings.Cut(id, "?")
	r.reaches(t, "report/"+id, job.Succeeded)
	if v, err := r.Run(t.Context(), "extract/"+id); err == nil {
		t.Errorf("the step that succeeded ran again: %+v", v)
	}
	if text := r.read(t, "/jobs/alone/workflow"); !strings.Contains(text, "belongs to no workflow") {
		t.Error("a job alone has no explanation")
	}
}
