package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func load(at time.Time, begins map[int]int) *api.LoadView {
	v := &api.LoadView{From: at, Minutes: make([]int, api.LoadMinutes), Jobs: len(begins)}
	for minute, n := range begins {
		v.Minutes[minute] = n
	}
	return v
}

func TestWeekDrawsEachMinute(t *testing.T) {
	from := noon.Add(7 * time.Minute)
	d := weekOf(load(from, map[int]int{0: 1, 1: 1, 2: 3, 53: 30, api.LoadMinutes - 1: 7}))
	if len(d.Days) != 8 || d.Total != 42 {
		t.Fatalf("got %d days and %d begins, want 8 and 42", len(d.Days), d.Total)
	}
	today := d.Days[0]
	got := fmt.Sprint(today.Paths, today.Total, today.Top.Count, today.Top.At.Format(" 15:04"))
	if want := "[{h2 M7 12h2} {h3 M9 12h1} {h5 M0 13h1}] 35 30 13:00"; got != want {
		t.Errorf("the first day: got %s, want %s", got, want)
	}
	if h := today.Hours; h[11].In || !h[12].In || h[12].Sum != 5 || h[12].Title != "Wed 12:00 UTC: 5 runs begin, at most 3 in a minute" {
		t.Errorf("hours: got %+v and %+v", h[11], h[12])
	}
	last := d.Days[7]
	if fmt.Sprint(last.Paths) != "[{h4 M6 12h1}]" || last.Hours[13].In {
		t.Errorf("the last day: got %v", last.Paths)
	}
	if b := d.Busiest; len(b) != 5 || b[0].Count != 30 || b[1].Count != 7 || !b[3].At.Equal(from) {
		t.Errorf("busiest: got %+v", b)
	}
}

func TestHeatLimitsGrowWithTheCounts(t *testing.T) {
	for top, want := range map[int]string{
		0: "[1]", 1: "[1]", 4: "[1 2]", 60: "[1 2 5 20]", 2000: "[1 2 5 20 100]", 100_000: "[1 50 125 500 2500]",
	} {
		got := fmt.Sprint(heatLimits(top))
		if top == 100_000 {
			got = fmt.Sprint(heatLimits(top)[0], len(heatLimits(top)))
			want = "1 5"
		}
		if got != want {
			t.Errorf("up to %d: got %s, want %s", top, got, want)
		}
	}
}

func TestAWeekWithoutBegins(t *testing.T) {
	if d := weekOf(load(noon, nil)); d.Total != 0 || len(d.Busiest) != 0 {
		t.Errorf("got %+v", d)
	}
}
