package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// gantt draws the runs and the slots of jobs in a span of time, one row for each job.
type gantt struct {
	From, Until time.Time
	Ticks       []time.Time // at the beginning of each part of the axis; the parts have the same width
	Days        bool        // the parts are days, or longer
	Grid        string      // path of the lines at the ticks
	Now         float64     // place of now; negative: outside
	Rows        []ganttRow
}

// ganttRow is one job.
type ganttRow struct {
	Job, State string
	Bars       []chartBar  // one for each run, with a link
	Paths      []stripPath // in place of the bars, if there are too many runs to link each
	Waits      string      // path of the spans between slots and late starts
	Slots      string      // path of the slots to come
	Words      []ganttWord // what the row shows
	Next       time.Time   // the next slot in the span; zero if there is none
}

// ganttWord counts runs of one state, or slots to come.
type ganttWord struct{ Class, Sign, Text string }

// The sizes of a row, in units of its view box.
const (
	ganttWidth  = 1000
	ganttHeight = 22
	ganttBar    = 3  // the smallest width of a bar
	ganttLinked = 20 // more runs in a row are drawn without links
)

// barHeights says how high a bar is, by its color class, so that outcomes differ without colors.
var barHeights = map[string]float64{"bad": 20, "ok": 12, "run": 12, "warn": 8, "off": 5}

// ganttOf places everything that the view has.
func ganttOf(v *api.GanttView, tick time.Duration) gantt {
	g := gantt{From: v.From, Until: v.Until, Now: -1, Days: tick >= 24*time.Hour}
	x := func(at time.Time) float64 {
		return min(ganttWidth, max(0, float64(at.Sub(v.From))/float64(v.Until.Sub(v.From))*ganttWidth))
	}
	var grid strings.Builder
	for at := v.From; at.Before(v.Until); at = at.Add(tick) {
		g.Ticks = append(g.Ticks, at)
		fmt.Fprintf(&grid, "M%s 0v%dh1V0z", number(x(at)), ganttHeight)
	}
	g.Grid = grid.String()
	if !v.At.Before(v.From) && v.At.Before(v.Until) {
		g.Now = round(x(v.At))
	}
	for i := range v.Rows {
		g.Rows = append(g.Rows, ganttRowOf(&v.Rows[i], v.At, x))
	}
	return g
}

func ganttRowOf(r *api.GanttRow, now time.Time, x func(time.Time) float64) ganttRow {
	row := ganttRow{Job: r.Job, State: r.State, Words: ganttWords(r)}
	paths, waits := map[string]*strings.Builder{}, strings.Builder{}
	for i := range r.Runs {
		run := &r.Runs[i]
		begin, end := extent(run, now)
		from := min(x(begin), ganttWidth-ganttBar)
		width := math.Max(ganttBar, x(end)-from)
		class := classOf(run.State)
		h := barHeights[class]
		if !run.Started.IsZero() && run.Started.Sub(run.Slot) >= time.Second && x(run.Started)-x(run.Slot) >= 1 {
			fmt.Fprintf(&waits, "M%s 10h%sv2H%sz", number(x(run.Slot)), number(x(run.Started)-x(run.Slot)), number(x(run.Slot)))
		}
		if len(r.Runs) <= ganttLinked {
			row.Bars = append(row.Bars, chartBar{
				Class: class, X: round(from), Y: (ganttHeight - h) / 2, Width: round(width), Height: h,
				Title: runTitle(run, begin, end), Link: runLink(r.Job + "/" + run.ID),
			})
			continue
		}
		if paths[class] == nil {
			paths[class] = &strings.Builder{}
		}
		fmt.Fprintf(paths[class], "M%s %sh%sv%sH%sz", number(from), number((ganttHeight-h)/2), number(width), number(h), number(from))
	}
	for _, class := range []string{"off", "ok", "warn", "run", "bad"} { // failures are drawn last, over the others
		if p := paths[class]; p != nil {
			row.Paths = append(row.Paths, stripPath{class, p.String()})
		}
	}
	row.Waits = waits.String()
	var slots strings.Builder
	for i := 0; i < len(r.Slots); i++ {
		p := &r.Slots[i]
		if i == 0 {
			row.Next = p.At
		}
		from, width := x(p.At), float64(2)
		if !p.Until.IsZero() {
			until := p.Until
			for i+1 < len(r.Slots) && r.Slots[i+1].At.Equal(until) { // one shape for all that follow each other
				i++
				until = r.Slots[i].Until
			}
			width = math.Max(2, x(until)-from)
		}
		fmt.Fprintf(&slots, "M%s 7h%sv8H%sz", number(from), number(width), number(from))
	}
	row.Slots = slots.String()
	return row
}

// extent returns where the bar of a run begins and ends.
func extent(r *api.GanttRun, now time.Time) (begin, end time.Time) {
	switch {
	case r.Started.IsZero() && !r.Waits.IsZero():
		return r.Waits, job.Later(r.Waits, now)
	case r.Started.IsZero():
		return r.Slot, r.Slot
	case r.Finished.IsZero():
		return r.Started, now
	}
	return r.Started, r.Finished
}

// runTitle describes a run in one line.
func runTitle(r *api.GanttRun, begin, end time.Time) string {
	text := r.Slot.UTC().Format(longTime) + " UTC: " + looks[string(r.State)].words
	if !r.Started.IsZero() {
		text += ", took " + spanText(end.Sub(begin))
	}
	if r.Late {
		text += ", late"
	}
	if r.Reason != "" {
		text += ": " + cut(r.Reason, 80)
	}
	return text
}

// ganttWords says in words what a row shows.
func ganttWords(r *api.GanttRow) (words []ganttWord) {
	for _, state := range job.States() {
		if n := r.Counts[state]; n > 0 {
			l := looks[string(state)]
			words = append(words, ganttWord{l.class, l.sign, digits(n) + " " + l.words})
		}
	}
	if r.Planned > 0 {
		words = append(words, ganttWord{"plan", "◇", digits(r.Planned) + " planned"})
	}
	if r.More > 0 {
		words = append(words, ganttWord{"off", "", fmt.Sprintf("the latest %d drawn", len(r.Runs))})
	}
	return words
}

// number writes a place with at most one digit after the point.
func number(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }
