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
	if want := "[{h1 M7 12h2} {h2 M9 12h1} {h5 M0 13h1}] 35 30 13:00"; got != want {
		t.Errorf("the first day: got %s, want %s", got, want)
	}
	if h := today.Hours; h[11].In || !h[12].In || h[12].Sum != 5 || h[12].Title != "Wed 12:00 UTC: 5 runs begin, at most 3 in a minute" {
		t.Errorf("hours: got %+v and %+v", h[11], h[12])
	}
	last := d.Days[7]
	if fmt.Sprint(last.Paths) != "[{h3 M6 12h1}]" || last.Hours[13].In {
		t.Errorf("the last day: got %v", last.Paths)
	}
	if b := d.Busiest; len(b) != 5 || b[0].Count != 30 || b[1].Count != 7 || !b[3].At.Equal(from) {
		t.Errorf("busiest: got %+v", b)
	}
}

func TestHeatLimitsFollowTheCounts(t *testing.T) {
	for _, tc := range []struct {
		counts []int
		want   string
	}{
		{[]int{0, 0}, "[]"},
		{[]int{0, 1, 1}, "[1]"},
		{[]int{1, 4}, "[1 2 3 4]"},
		{[]int{17, 0, 21}, "[17 18 19 20 21]"},
		{[]int{1, 100_000}, "[1 10 100 1000 10000]"},
	} {
		if got := fmt.Sprint(heatLimits(tc.counts)); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.counts, got, tc.want)
		}
	}
}

func TestAWeekWithoutBegins(t *testing.T) {
	if d := weekOf(load(noon, nil)); d.Total != 0 || len(d.Busiest) != 0 {
		t.Errorf("got %+v", d)
	}
}
