package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// The sizes of a row of a Gantt chart.
const (
	ganttRuns  = 100
	ganttSlots = 200
	ganttCount = 100_000 // more than the slots of a minute
)

// Gantt returns the runs and the slots of jobs in a span of time.
func (b *Backend) Gantt(_ context.Context, q api.GanttQuery) (api.GanttView, error) {
	if err := b.up(); err != nil {
		return api.GanttView{}, err
	}
	now := b.present()
	v := api.GanttView{From: q.From.UTC(), Until: q.Until.UTC(), At: now.UTC(), Rows: []api.GanttRow{}}
	stopped := b.mirror.Gate().Paused != nil
	whens := map[string]*schedule.Schedule{} // of the rows
	row := func(name string, j *activity.Job) {
		v.Rows = append(v.Rows, api.GanttRow{Job: name, State: stateOf(j, now), Step: j.Job.Spec.Step()})
		if !stopped && j.Job.Paused == nil {
			whens[name] = j.When()
		}
	}
	if q.Job != "" {
		if !b.cfg.Activity.Job(q.Job, func(j *activity.Job) { row(q.Job, j) }) {
			return v, fmt.Errorf("job %s: %w", q.Job, job.ErrNotFound)
		}
	} else {
		search := strings.ToLower(q.Search)
		b.cfg.Activity.Each(q.After, func(name string, j *activity.Job) bool {
			switch {
			case q.Visible != nil && !q.Visible(name) || !matches(name, j.Job, search) || !occurs(j, q.From, q.Until, now):
				return true
			case len(q.States) > 0 && !slices.Contains(q.States, stateOf(j, now)):
				return true
			case len(v.Rows) == q.Limit:
				v.Continue = v.Rows[q.Limit-1].Job
				return false
			}
			row(name, j)
			return true
		})
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		b.addRuns(r, q.From, q.Until, now)
		if when := whens[r.Job]; when != nil {
			addSlots(r, when, q.From, q.Until, now)
		}
	}
	v.Rows = slices.DeleteFunc(v.Rows, func(r api.GanttRow) bool { return q.Job == "" && len(r.Runs) == 0 && r.Planned == 0 })
	return v, nil
}

// occurs reports whether a job may have a run or a slot in a span of time. It reads only the summary, because all jobs are asked.
func occurs(j *activity.Job, from, until, now time.Time) bool {
	ran := from.Before(now) && (j.Active > 0 || j.Last != nil && !j.Last.Finished.Before(from))
	if ran || j.Failed > 0 && until.After(now) || j.Waits(until) {
		return true
	}
	when := j.When()
	if when == nil || j.Job.Paused != nil || !until.After(now) {
		return false
	}
	next, ok := when.Next(job.Later(from, now))
	return ok && next.Before(until)
}

// addRuns adds the runs of a row. A run is in the span from its start to its end. A run that has not started is in the span while
// it waits, or at the time that it waits for.
func (b *Backend) addRuns(row *api.GanttRow, from, until, now time.Time) {
	row.Counts = map[job.State]int{}
	all := 0
	runs := b.mirror.FirstRuns(row.Job, ganttRuns, until, api.CompareRuns, func(r *job.Run) bool {
		begin, end := r.Started, r.Finished
		switch {
		case begin.IsZero() && r.State.Terminal():
			begin, end = r.Slot, r.Slot
		case begin.IsZero():
			begin = r.WaitsSince()
			end = job.Later(begin, now)
		case end.IsZero():
			end = now
		}
		if !begin.Before(until) || end.Before(from) {
			return false
		}
		row.Counts[r.State]++
		all++
		return true
	})
	row.More = all - len(runs)
	for _, r := range runs {
		run := api.GanttRun{
			ID: r.ID, State: r.State, Slot: r.Slot, Started: r.Started, Finished: r.Finished, Late: r.Late, Reason: r.Reason,
		}
		if r.Started.IsZero() && !r.State.Terminal() {
			run.Waits = r.WaitsSince()
		}
		row.Runs = append(row.Runs, run)
	}
	slices.Reverse(row.Runs)
}

// addSlots adds the slots to come. If they are many, it joins those that are close together.
func addSlots(row *api.GanttRow, when *schedule.Schedule, from, until, now time.Time) {
	from = job.Later(from, now)
	for at, ok := when.Next(from.Add(-time.Millisecond)); ok && at.Before(until); at, ok = when.Next(at) {
		if row.Planned++; row.Planned > ganttSlots {
			joinSlots(row, when, from, until)
			return
		}
		row.Slots = append(row.Slots, api.PlannedView{At: at, Count: 1})
	}
}

// joinSlots replaces the slots of a row by their counts in parts of the span.
func joinSlots(row *api.GanttRow, when *schedule.Schedule, from, until time.Time) {
	start := from.Truncate(time.Minute)
	minutes := when.PerMinute(start, int(until.Sub(start)/time.Minute)+1)
	last := len(minutes) - 1
	before, _ := when.Count(start.Add(-time.Millisecond), from.Add(-time.Millisecond), ganttCount)
	after, _ := when.Count(until.Add(-time.Millisecond), start.Add(time.Duration(last+1)*time.Minute-time.Millisecond), ganttCount)
	minutes[0] -= before
	minutes[last] -= after
	part := len(minutes)/ganttSlots + 1
	first := row.Slots[0].At
	row.Slots, row.Planned = nil, 0
	for i := 0; i < len(minutes); i += part {
		n := 0
		for _, k := range minutes[i:min(i+part, len(minutes))] {
			n += k
		}
		if n == 0 {
			continue
		}
		row.Planned += n
		at := start.Add(time.Duration(i) * time.Minute)
		row.Slots = append(row.Slots, api.PlannedView{
			At: job.Later(at, first).UTC(), Until: at.Add(time.Duration(part) * time.Minute).UTC(), Count: n,
		})
	}
}
