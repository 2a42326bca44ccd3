package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

func hourView(rows ...api.GanttRow) *api.GanttView {
	return &api.GanttView{From: noon, Until: at(60), At: at(40), Rows: rows}
}

func TestGanttPlacesRuns(t *testing.T) {
	g := ganttOf(hourView(api.GanttRow{
		Job: "backup", State: "failing",
		Runs: []api.GanttRun{
			{ID: "1", State: job.Succeeded, Slot: at(-10), Started: at(-10), Finished: at(6)}, // began before the span
			{ID: "2", State: job.Skipped, Slot: at(12), Reason: "the previous run is active"},
			{ID: "3", State: job.Failed, Slot: at(15), Started: at(18), Finished: at(18.01)},
			{ID: "4", State: job.Running, Slot: at(30), Started: at(30)},
			{ID: "5", State: job.Pending, Slot: at(36), Waits: at(37)},
			{ID: "6", State: job.Pending, Slot: at(1), Waits: at(48)}, // submitted for later
		},
		Counts: map[job.State]int{job.Succeeded: 1, job.Skipped: 1, job.Failed: 1, job.Running: 1, job.Pending: 2},
		Slots:  []api.PlannedView{{At: at(45), Count: 1}, {At: at(50), Until: at(55), Count: 12}}, Planned: 13,
	}), 10*time.Minute)
	if len(g.Ticks) != 6 || g.Now != 666.7 {
		t.Errorf("axis: got %d ticks and now at %v, want 6 and 666.7", len(g.Ticks), g.Now)
	}
	var got []string
	for _, b := range g.Rows[0].Bars {
		got = append(got, fmt.Sprint(b.Class, " ", b.X, "+", b.Width, " high ", b.Height))
	}
	want := "ok 0+100 high 12; off 200+3 high 5; bad 300+3 high 20; run 500+166.7 high 12; warn 616.7+50 high 8; warn 800+3 high 8"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("bars: got %s, want %s", text, want)
	}
	row := g.Rows[0]
	if row.Waits != "M250 10h50v2H250z" {
		t.Errorf("the late start: got %q", row.Waits)
	}
	if row.Slots != "M750 7h2v8H750zM833.3 7h83.3v8H833.3z" || !row.Next.Equal(at(45)) {
		t.Errorf("planned slots: got %q, next %v", row.Slots, row.Next)
	}
	if title := row.Bars[1].Title; title != "Nov 25 12:12:00 UTC: skipped: the previous run is active" {
		t.Errorf("title: got %q", title)
	}
	words := ""
	for _, w := range row.Words {
		words += w.Text + "; "
	}
	for _, part := range []string{"1 succeeded", "1 skipped", "1 failed", "1 running", "2 waiting", "13 planned"} {
		if !strings.Contains(words, part) {
			t.Errorf("the words lack %q: %s", part, words)
		}
	}
}

// TestGanttIsBounded proves that a row with many runs takes few bytes, and keeps failures in front.
func TestGanttIsBounded(t *testing.T) {
	row := api.GanttRow{Job: "tick", Counts: map[job.State]int{job.Succeeded: 1000}, More: 900}
	for i := range 100 {
		r := api.GanttRun{State: job.Succeeded, Started: at(float64(i) / 3), Finished: at(float64(i)/3 + 0.1)}
		if i%7 == 0 {
			r.State = job.Failed
		}
		row.Runs = append(row.Runs, r)
	}
	for i := range 200 {
		row.Slots = append(row.Slots, api.PlannedView{At: at(40 + float64(i)/10), Count: 1})
	}
	got := ganttOf(hourView(row), 10*time.Minute).Rows[0]
	if len(got.Bars) != 0 || len(got.Paths) != 2 || got.Paths[1].Class != "bad" {
		t.Fatalf("got %d bars and paths %v, want two paths, failures last", len(got.Bars), len(got.Paths))
	}
	if n := len(got.Paths[0].D) + len(got.Paths[1].D) + len(got.Slots); n > 8000 {
		t.Errorf("a full row takes %d bytes, want at most 8000", n)
	}
	if last := got.Words[len(got.Words)-1].Text; last != "the latest 100 drawn" {
		t.Errorf("got %q, want that runs are left out", last)
	}
}

func TestSpansBeginAtATick(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 47, 12, 0, time.UTC)
	for _, s := range spans {
		from, until := s.around(now)
		if !from.Equal(from.Truncate(s.tick)) || until.Sub(from) != s.length || s.length%s.tick != 0 {
			t.Errorf("%s: got %v to %v", s.name, from, until)
		}
		if past := now.Sub(from); past < s.length/2 || !until.After(now) {
			t.Errorf("%s: %v before now are shown, want more than half", s.name, past)
		}
	}
}
