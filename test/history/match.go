package history

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Window is the time in which something has to happen once.
type Window struct {
	From, To time.Time // both inclusive; a zero To: the window never ends
	Optional bool      // it need not happen
}

func (w Window) holds(at time.Time) bool {
	return !at.Before(w.From) && (w.To.IsZero() || !at.After(w.To))
}

// Matching assigns points to windows.
type Matching struct {
	Point  []int // by window: the index of its point, -1 if it has none
	Window []int // by point: the index of its window, -1 if it has none
}

// Missed lists the windows that had to be filled and were not.
func (m Matching) Missed(windows []Window) (missed []int) {
	for i, p := range m.Point {
		if p < 0 && !windows[i].Optional {
			missed = append(missed, i)
		}
	}
	return missed
}

// Extra lists the points without a window.
func (m Matching) Extra() (extra []int) {
	for i, w := range m.Window {
		if w < 0 {
			extra = append(extra, i)
		}
	}
	return extra
}

// Match fills each window with at most one point. It is exact: no other assignment has fewer missed windows or fewer extra
// points, and one Matching has both. Its arguments need not be sorted. It takes O(n log n).
func Match(windows []Window, points []time.Time) Matching {
	owed := match(windows, points, func(w Window) bool { return !w.Optional })
	all := match(windows, points, func(Window) bool { return true })
	return join(owed, all)
}

// match fills the windows for which counts is true. It takes the window with the earliest deadline first, which is optimal for
// intervals and points.
func match(windows []Window, points []time.Time, counts func(Window) bool) Matching {
	m := Matching{Point: unfilled(len(windows)), Window: unfilled(len(points))}
	var byStart []int
	for i, w := range windows {
		if counts(w) {
			byStart = append(byStart, i)
		}
	}
	slices.SortFunc(byStart, func(a, b int) int { return cmp.Or(windows[a].From.Compare(windows[b].From), a-b) })
	byTime := make([]int, len(points))
	for i := range points {
		byTime[i] = i
	}
	slices.SortFunc(byTime, func(a, b int) int { return cmp.Or(points[a].Compare(points[b]), a-b) })

	open := &deadlines{windows: windows}
	for _, p := range byTime {
		for len(byStart) > 0 && !windows[byStart[0]].From.After(points[p]) {
			heap.Push(open, byStart[0])
			byStart = byStart[1:]
		}
		for open.Len() > 0 {
			if i := heap.Pop(open).(int); windows[i].holds(points[p]) {
				m.Point[i], m.Window[p] = p, i
				break
			}
		}
	}
	return m
}

func unfilled(n int) []int {
	none := make([]int, n)
	for i := range none {
		none[i] = -1
	}
	return none
}

// join returns a matching that fills every window of owed and uses every point of all. It exists by the theorem of Mendelsohn
// and Dulmage: the differences of the two matchings form paths, and on each path one of the matchings has both properties.
func join(owed, all Matching) Matching {
	m := Matching{Point: slices.Clone(all.Point), Window: slices.Clone(all.Window)}
	// A path that begins at a window which only owed fills goes window, point, window … It ends in a window, or in a point that
	// all uses as well. Along it, owed is as good as all for the points.
	for start := range owed.Point {
		if owed.Point[start] < 0 || all.Point[start] >= 0 {
			continue
		}
		for w := start; w >= 0 && owed.Point[w] >= 0; {
			p := owed.Point[w]
			displaced := all.Window[p]
			m.Point[w], m.Window[p] = p, w
			w = displaced
			if w >= 0 && owed.Point[w] < 0 {
				m.Point[w] = -1
			}
		}
	}
	return m
}

// deadlines is a heap of windows with the earliest end on top.
type deadlines struct {
	windows []Window
	open    []int
}

func (d *deadlines) Len() int { return len(d.open) }
func (d *deadlines) Less(i, j int) bool {
	a, b := d.windows[d.open[i]].To, d.windows[d.open[j]].To
	switch {
	case a.IsZero() || b.IsZero():
		if a.IsZero() == b.IsZero() {
			return d.open[i] < d.open[j]
		}
		return b.IsZero()
	case a.Equal(b):
		return d.open[i] < d.open[j]
	}
	return a.Before(b)
}
func (d *deadlines) Swap(i, j int) { d.open[i], d.open[j] = d.open[j], d.open[i] }
func (d *deadlines) Push(i any)    { d.open = append(d.open, i.(int)) }
func (d *deadlines) Pop() any {
	last := len(d.open) - 1
	i := d.open[last]
	d.open = d.open[:last]
	return i
}
