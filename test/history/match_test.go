package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sec(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }

func TestMatch(t *testing.T) {
	w := func(from, to float64) Window { return Window{From: sec(from), To: sec(to)} }
	maybe := func(from, to float64) Window { return Window{From: sec(from), To: sec(to), Optional: true} }
	for _, c := range []struct {
		name    string
		windows []Window
		points  []float64
		missed  []int
		extra   []int
	}{
		{"nothing at all", nil, nil, nil, nil},
		{"each in its own", []Window{w(1, 2), w(3, 4)}, []float64{3, 2}, nil, nil},
		{"the ends belong to it", []Window{w(1, 2), w(1, 2)}, []float64{1, 2}, nil, nil},
		{"too early and too late", []Window{w(1, 2)}, []float64{0.9, 2.1}, []int{0}, []int{0, 1}},
		{"one left out", []Window{w(1, 2), w(2, 3), w(3, 4)}, []float64{1, 4}, []int{1}, nil},
		{"one twice", []Window{w(1, 2), w(3, 4)}, []float64{1, 1.5, 3}, nil, []int{1}},
		{"the one that is over first goes first", []Window{w(1, 9), w(1, 3)}, []float64{2, 8}, nil, nil},
		{"never over", []Window{{From: sec(1)}, w(1, 3)}, []float64{2, 1e6}, nil, nil},
		{"an optional one may stay empty", []Window{maybe(1, 2), w(3, 4)}, []float64{3.5}, nil, nil},
		{"and accounts for a point", []Window{maybe(1, 2), w(3, 4)}, []float64{3.5, 1}, nil, nil},
		{"but once", []Window{maybe(1, 2)}, []float64{1, 1}, nil, []int{1}},
		{"what is owed goes before what is optional", []Window{maybe(1, 2), w(1, 9)}, []float64{1.5}, nil, nil},
		{"both kinds are filled if they can be", []Window{maybe(1, 2), w(1, 9), w(1, 3)}, []float64{1.5, 2.5, 8}, nil, nil},
		{"also if one has to make room", []Window{maybe(1, 3), w(1, 9), maybe(1, 2)}, []float64{1.5, 2.5, 2.6}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var points []time.Time
			for _, p := range c.points {
				points = append(points, sec(p))
			}
			m := Match(c.windows, points)
			if diff := cmp.Diff(c.missed, m.Missed(c.windows)); diff != "" {
				t.Errorf("missed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.extra, m.Extra()); diff != "" {
				t.Errorf("extra (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchIsExact compares Match with the best of all possible assignments.
func TestMatchIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 9)
		var windows []Window
		for i := range rapid.IntRange(0, 6).Draw(t, "windows") {
			from := small.Draw(t, fmt.Sprint("from ", i))
			w := Window{From: sec(float64(from)), Optional: rapid.Bool().Draw(t, fmt.Sprint("optional ", i))}
			if length := rapid.IntRange(0, 5).Draw(t, fmt.Sprint("length ", i)); length < 5 {
				w.To = sec(float64(from + length))
			}
			windows = append(windows, w)
		}
		var points []time.Time
		for i := range rapid.IntRange(0, 6).Draw(t, "points") {
			points = append(points, sec(float64(small.Draw(t, fmt.Sprint("point ", i)))))
		}
		m := Match(windows, points)
		for i, p := range m.Point {
			if p >= 0 && (m.Window[p] != i || !windows[i].holds(points[p])) {
				t.Fatalf("window %d has point %d, which has window %d: %+v", i, p, m.Window[p], m)
			}
		}
		for p, i := range m.Window {
			if i >= 0 && m.Point[i] != p {
				t.Fatalf("point %d has window %d, which has point %d: %+v", p, i, m.Point[i], m)
			}
		}
		missed, extra := best(windows, points, make([]bool, len(windows)))
		if len(m.Missed(windows)) != missed || len(m.Extra()) != extra {
			t.Fatalf("missed %d, extra %d; there is a way to miss %d, and one to have %d extra: %+v",
				len(m.Missed(windows)), len(m.Extra()), missed, extra, m)
		}
	})
}

// best returns the least number of missed windows, and of extra points, of all assignments.
func best(windows []Window, points []time.Time, taken []bool) (missed, extra int) {
	if len(points) == 0 {
		for i, w := range windows {
			if !w.Optional && !taken[i] {
				missed++
			}
		}
		return missed, 0
	}
	missed, extra = best(windows, points[1:], taken)
	extra++
	for i, w := range windows {
		if taken[i] || !w.holds(points[0]) {
			continue
		}
		taken[i] = true
		m, e := best(windows, points[1:], taken)
		missed, extra = min(missed, m), min(extra, e)
		taken[i] = false
	}
	return missed, extra
}

// A test whose jobs write only their start times compares these with the windows.
func ExampleMatch() {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	windows := []Window{{From: at(0), To: at(5)}, {From: at(10), To: at(15)}, {From: at(20), To: at(25)}}
	begun := []time.Time{at(1), at(22), at(23)}
	m := Match(windows, begun)
	for _, i := range m.Missed(windows) {
		fmt.Println("missed:", windows[i].From.Format(time.TimeOnly))
	}
	for _, i := range m.Extra() {
		fmt.Println("extra:", begun[i].Format(time.TimeOnly))
	}
	// Output:
	// missed: 00:00:10
	// extra: 00:00:23
}
