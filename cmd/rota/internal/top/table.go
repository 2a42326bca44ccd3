package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// column is a column of a list. On a narrow terminal, columns with a higher drop vanish first; 0 always stays.
type column struct {
	title string
	drop  int
}

// cell is one field of a row: its text, and a number by which it is sorted. If the number is zero, the text decides.
type cell struct {
	text string
	by   float64
}

// row is one line of a list.
type row struct {
	key   string // names the object
	style style
	cells []cell
}

// columns returns the columns of the shown list; none for one run.
func (s State) columns() []column {
	switch s.Query().Kind {
	case Jobs:
		return []column{{"JOB", 0}, {"STATE", 0}, {"NEXT", 1}, {"LAST", 2}, {"ACTIVE", 3}, {"SCHEDULE", 4}}
	case Runs:
		return []column{{"RUN", 0}, {"STATE", 0}, {"STARTED", 1}, {"TOOK", 3}, {"ATT", 4}, {"WORKER", 2}, {"REASON", 5}}
	case Workers:
		return []column{{"WORKER", 0}, {"STATE", 0}, {"RUNNING", 0}, {"ARMED", 3}, {"FREE", 1}, {"CAPACITY", 4}, {"LABELS", 5}}
	case Limits:
		return []column{{"LIMIT", 0}, {"HELD", 0}, {"CONCURRENT", 0}, {"RATE", 1}}
	}
	return nil
}

// rows returns the rows of the shown list that match the filter, in their order.
func (s State) rows() []row {
	if !s.loaded() {
		return nil
	}
	var rows []row
	switch s.Query().Kind {
	case Jobs:
		for i := range s.snap.Jobs {
			rows = append(rows, s.jobRow(&s.snap.Jobs[i]))
		}
	case Runs:
		for i := range s.snap.Runs {
			if r := &s.snap.Runs[i]; s.top().worker == "" || r.Worker == s.top().worker {
				rows = append(rows, s.runRow(i, r))
			}
		}
	case Workers:
		for i := range s.snap.Workers {
			rows = append(rows, workerRow(&s.snap.Workers[i]))
		}
	case Limits:
		for i := range s.snap.Limits {
			rows = append(rows, limitRow(&s.snap.Limits[i]))
		}
	}
	filter := strings.ToLower(s.top().filter)
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return !slices.ContainsFunc(r.cells, func(c cell) bool { return strings.Contains(strings.ToLower(c.text), filter) })
	})
	by, desc := s.top().sort, s.top().desc
	slices.SortStableFunc(rows, func(a, b row) int {
		order := cmp.Or(cmp.Compare(a.cells[by].by, b.cells[by].by), strings.Compare(a.cells[by].text, b.cells[by].text))
		if desc {
			return -order
		}
		return order
	})
	return rows
}

// selected returns the selected row.
func (s State) selected() (row, bool) {
	rows := s.rows()
	if len(rows) == 0 {
		return row{}, false
	}
	return rows[s.index(rows)], true
}

// index returns the index of the selected row: the first one if the selected object is not in the list.
func (s State) index(rows []row) int {
	return max(slices.IndexFunc(rows, func(r row) bool { return r.key == s.top().cursor }), 0)
}

func (s State) jobRow(v *api.JobView) row {
	state, look := "new", normal
	switch {
	case v.Paused != nil:
		state, look = "paused", warning
	case s.snap.Running[v.Job.Name]:
		state, look = "running", active
	case v.Last != nil && v.Last.State == job.Succeeded:
		state, look = "ok", good
	case v.Last != nil:
		state, look = string(v.Last.State), styleOf(v.Last.State)
	}
	next, last := cell{"-", 1 << 40}, cell{"-", 1 << 40}
	if v.Next != nil && v.Paused == nil {
		next = cell{"in " + span(v.Next.Sub(s.snap.At)), float64(v.Next.Unix())}
	}
	if v.Last != nil && !v.Last.Finished.IsZero() {
		last = cell{span(s.snap.At.Sub(v.Last.Finished)) + " ago", s.snap.At.Sub(v.Last.Finished).Seconds() + 1}
	}
	return row{v.Job.Name, look, []cell{
		{text: v.Job.Name}, {text: state}, next, last, number(max(v.ActiveRuns, len(v.Active))),
		{text: cmp.Or(v.ScheduleText, "on request")},
	}}
}

// runRow returns the row of the run at an index of the list, which has the latest run first.
func (s State) runRow(i int, r *api.RunView) row {
	started, took := cell{"-", 1 << 40}, cell{"-", 1 << 40}
	if !r.Started.IsZero() {
		started = cell{span(s.snap.At.Sub(r.Started)) + " ago", s.snap.At.Sub(r.Started).Seconds() + 1}
		end := r.Finished
		if end.IsZero() {
			end = s.snap.At
		}
		took = cell{span(end.Sub(r.Started)), end.Sub(r.Started).Seconds() + 1}
	}
	return row{r.Ref, styleOf(r.State), []cell{
		{r.Ref, float64(i + 1)}, {text: string(r.State)}, started, took, number(r.Attempt),
		{text: cmp.Or(r.Worker, "-")}, {text: cmp.Or(r.Reason, "-")},
	}}
}

func workerRow(w *api.WorkerView) row {
	state, look := "ready", good
	switch {
	case w.Broken != "":
		state, look = "broken", warning
	case w.Pressure != "":
		state, look = "pressure", warning
	case w.Draining:
		state, look = "draining", warning
	case len(w.Away) > 0:
		state, look = w.AwayText(), warning
	case w.Free <= 0:
		state, look = "full", active
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(w.Labels)) {
		labels = append(labels, name+"="+w.Labels[name])
	}
	return row{w.Name, look, []cell{
		{text: w.Name}, {text: state}, number(w.Running), number(w.Armed), number(w.Free), number(w.Capacity),
		{text: cmp.Or(strings.Join(labels, ","), "-")},
	}}
}

func limitRow(l *api.LimitView) row {
	look := normal
	if l.Spec.Concurrent > 0 && l.Held >= l.Spec.Concurrent {
		look = warning
	}
	concurrent, rate := "-", "-"
	if l.Spec.Concurrent > 0 {
		concurrent = fmt.Sprint(l.Spec.Concurrent)
	}
	if text := fmt.Sprint(l.Spec.Rate); l.Spec.Rate != (job.Rate{}) {
		rate = text
	}
	return row{l.Name, look, []cell{{text: l.Name}, number(l.Held), {concurrent, float64(l.Spec.Concurrent)}, {text: rate}}}
}

func number(n int) cell { return cell{fmt.Sprint(n), float64(n) + 1} }

// span formats a duration by its largest unit.
func span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
