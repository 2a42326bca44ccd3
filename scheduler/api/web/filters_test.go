package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// reads are operations that record what a view reads.
type reads struct {
	writes
	targets []*url.URL
}

func (o *reads) Do(r *http.Request, method, target string, header http.Header, body, out any) error {
	if u, err := url.Parse(target); err == nil {
		o.targets = append(o.targets, u)
	}
	return o.writes.Do(r, method, target, header, body, out)
}

// read opens a view. It returns the answer, and the query of the first read of a path.
func read(t *testing.T, view, path string) (*httptest.ResponseRecorder, url.Values) {
	t.Helper()
	ops := new(reads)
	w := visit(t, New(ops, Config{}), view)
	for _, u := range ops.targets {
		if u.Path == path {
			return w, u.Query()
		}
	}
	return w, nil
}

// The link of a day in the month of a job leads to that day, also if it begins between two marks of the time line in UTC.
func TestADayOfTheMonthIsShownWhole(t *testing.T) {
	for from, until := range map[string]string{
		"2026-12-14T23:00:00Z": "2026-12-15T23:00:00Z", // in Berlin
		"2026-12-14T18:15:00Z": "2026-12-15T18:15:00Z", // in Kathmandu
	} {
		w, asked := read(t, "/timeline?span=1d&search=a&from="+from, "/v1/gantt")
		if asked.Get("from") != from || asked.Get("until") != until {
			t.Errorf("the day from %s: asked for %v, want it until %s", from, asked, until)
		}
		at, err := time.Parse(time.RFC3339, from)
		if err != nil {
			t.Fatal(err)
		}
		if later := url.QueryEscape(at.Add(12 * time.Hour).Format(time.RFC3339)); !strings.Contains(w.Body.String(), "from="+later) {
			t.Errorf("the day from %s has no link to %s", from, later)
		}
	}
}

// A day on which the clock changes has 23 or 25 hours.
func TestADayWithoutTwentyFourHoursIsShownWhole(t *testing.T) {
	v := &api.MonthView{Job: "a", Month: "2026-10", Zone: "Europe/Berlin", Days: make([]api.DayView, 31)}
	for i := range v.Days {
		v.Days[i].Date = fmt.Sprintf("2026-10-%02d", i+1)
	}
	v.Days[24].Hours = 25
	link := monthOf(v, noon).Weeks[3][6].Link
	_, asked := read(t, link, "/v1/gantt")
	if asked.Get("from") != "2026-10-24T22:00:00Z" || asked.Get("until") != "2026-10-25T23:00:00Z" {
		t.Errorf("%s asks for %v, want the 25 hours of the day", link, asked)
	}
}

// The address of a page is found with a slash at its end.
func TestASlashAtTheEndOfAnAddress(t *testing.T) {
	for view, want := range map[string]string{
		"/jobs/": "/jobs", "/jobs/a/?x=1": "/jobs/a?x=1", "/runs/a/1/": "/runs/a/1", "/nothing/": "", "//evil.example/": "", "/": "",
	} {
		w, _ := read(t, view, "/v1/jobs")
		moved := w.Code == http.StatusMovedPermanently
		if got := w.Header().Get("Location"); want != "" && (!moved || got != want) || want == "" && moved && strings.HasPrefix(got, "//") {
			t.Errorf("%s: got %d to %q, want %q", view, w.Code, got, want)
		}
	}
}

// A name that was copied with a space beside it finds its job.
func TestSpacesBesideANameDoNotCount(t *testing.T) {
	for view, asks := range map[string][2]string{
		"/jobs?search=+tick+": {"/v1/find/jobs", "search"}, "/runs?job=tick%0A": {"/v1/runs", "job"},
		"/events?job=+tick": {"/v1/timeline", "job"}, "/audit?job=tick+": {"/v1/audit", "job"},
		"/timeline?search=tick+": {"/v1/gantt", "search"},
	} {
		if _, asked := read(t, view, asks[0]); asked.Get(asks[1]) != "tick" {
			t.Errorf("%s asks %s for %v, want the job tick", view, asks[0], asked)
		}
	}
}

// A wrong parameter in an address is named, in the words of the page.
func TestAWrongParameterIsNamed(t *testing.T) {
	for view, want := range map[string]string{
		"/timeline?span=9y":   "The span &#34;9y&#34; is unknown: use one of 15m, 1h, 6h, 1d, 7d.",
		"/jobs/tick/at":       "Write the time of the slot, such as 2026-01-31T02:30:00Z.",
		"/jobs/tick/at?time=": "Write the time of the slot, such as 2026-01-31T02:30:00Z.",
	} {
		if w, _ := read(t, view, ""); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d, %s, want 422 with %q", view, w.Code, w.Body, want)
		}
	}
}

// The list of slots without runs also stands in a page without another heading of its level.
func TestNoLevelOfHeadingsIsLeftOut(t *testing.T) {
	var out strings.Builder
	missed := []timeline.Entry{{Kind: timeline.KindMissed, Text: "nobody led"}}
	all := template.Must(template.New("parts.html").Funcs(functions(nil)).ParseFS(files, "templates/parts.html"))
	if err := all.ExecuteTemplate(&out, "missed", missed); err != nil || !strings.Contains(out.String(), "<h2") {
		t.Errorf("got %s, %v, want a heading below that of the page", &out, err)
	}
}

// The shown end of a long output begins with a whole line. A part of a line may begin within the parameters of a color.
func TestTheEndOfOutputBeginsWithALine(t *testing.T) {
	long := strings.Repeat("x", longestCut)
	for text, want := range map[string]string{"31mred\nwhole\n": "whole\n", long + "\nwhole\n": long + "\nwhole\n", "": ""} {
		if got := string(fromLine([]byte(text))); got != want {
			t.Errorf("%.20q: got %.20q, want %.20q", text, got, want)
		}
	}
}
