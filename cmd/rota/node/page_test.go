package node

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
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
		"asleep":  {Schedule: []string{"* * * * *"}, Shell: "true"},
		"request": {Shell: "true"},
		"step":    {After: []job.After{{Job: "daily"}}, Shell: "true"},
	})
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
		"/jobs/daily?month=2027-03": "March 2027", "/jobs/tick": "86400 slots", "/timeline?span=15m": `>tick</a>`, "/timeline?search=dai&span=7d": `>daily</a>`, "/timeline/week": "The busiest minutes",
		"/timeline?state=failing": "No job that matches", "/timeline?from=2020-01-01T00:00:00Z": "No job has a run or a slot",
	} {
		if text := r.read(t, path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}
