package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"github.com/rota-scheduler/rota/store"
)

// backfillEvents is how many of the latest events of a job StartBackfill reads. Slots that earlier events skipped do not run.
const backfillEvents = 10_000

// shownSlots is how many slots a dry run lists.
const shownSlots = 10

// StartBackfill orders a backfill.
func (b *Backend) StartBackfill(ctx context.Context, o job.Backfill, dry bool) (api.BackfillView, error) {
	if err := b.up(); err != nil {
		return api.BackfillView{}, err
	}
	j, err := b.current(ctx, o.Job)
	switch {
	case err != nil:
		return api.BackfillView{}, err
	case j == nil:
		return api.BackfillView{}, fmt.Errorf("job %s: %w", o.Job, job.ErrNotFound)
	}
	when, err := b.backfilledSchedule(j)
	if err != nil {
		return api.BackfillView{}, err
	}
	previous := func(ctx context.Context) (job.Backfill, error) {
		previous, err := b.store.Backfill(ctx, o.Job)
		if errors.Is(err, job.ErrNotFound) {
			return job.Backfill{}, nil
		}
		return previous, storeError(err)
	}
	if dry {
		p, err := previous(ctx)
		if err == nil {
			err = b.plan(ctx, &o, j, when, &p)
		}
		if err != nil {
			return api.BackfillView{}, err
		}
		return b.dryRun(&o, j, when), nil
	}
	written, err := store.Edit(ctx, previous,
		func(p job.Backfill) (job.Backfill, bool, error) {
			switch running := p.State == job.BackfillRunning; {
			case running && p.Same(&o): // a request that was sent twice, also at the same time
				return p, false, nil
			case running:
				return p, false, refusal("a backfill of job %[1]s is running: wait for it, or stop it with `rota backfill %[1]s --stop`", o.Job)
			}
			next := o
			next.Rev, next.Past = p.Rev, p.Decided()
			return next, true, b.plan(ctx, &next, j, when, &p)
		},
		func(ctx context.Context, next job.Backfill) (job.Backfill, error) {
			return stored(b.store.PutBackfill(ctx, next))
		})
	if err != nil {
		return api.BackfillView{}, err
	}
	b.shown(ctx, written.Rev)
	return b.backfillView(&written), nil
}

// backfilledSchedule returns the schedule of a job. It returns an api.Refusal if the job cannot be backfilled.
func (b *Backend) backfilledSchedule(j *job.Job) (*schedule.Schedule, error) {
	if j.Spec.Step() {
		return nil, refusal("job %s is a step of a workflow: its slots are those of its parents", j.Name)
	}
	if j.Spec.OnEveryWorker() {
		return nil, refusal("job %s runs on every worker, and such a job cannot be backfilled; run it now with `rota run`", j.Name)
	}
	when, err := policy.When(j.Name, j.Spec)
	switch {
	case err != nil:
		return nil, noSlots(j.Name, err)
	case when == nil:
		return nil, refusal("job %s has no schedule, so it has no slots", j.Name)
	}
	return when, nil
}

// backfilledSteps returns the steps behind a job, which a backfill of it runs too. It returns an api.Refusal if another job without
// parents leads to one of them: that step may have had a run of a slot that the job skipped.
func (b *Backend) backfilledSteps(j *job.Job) ([]string, error) {
	graph := b.graph(j.Name)
	steps := graph.Behind(j.Name)
	part := append([]string{j.Name}, steps...)
	for _, step := range steps {
		for _, a := range graph.Parents(step) {
			if !slices.Contains(part, a.Job) {
				return nil, refusal("job %s also follows job %s, which job %[3]s does not start: a workflow with several roots cannot be "+
					"backfilled; start job %[3]s with `rota run --workflow` instead", step, a.Job, j.Name)
			}
		}
	}
	if len(steps) > store.MaxBehind {
		return nil, refusal("%d steps follow job %s, and a backfill runs at most %d for each slot", len(steps), j.Name, store.MaxBehind)
	}
	return steps, nil
}

// plan sets the steps of a backfill, its ranges, and how many slots they have.
func (b *Backend) plan(
	ctx context.Context, o *job.Backfill, j *job.Job, when *schedule.Schedule, previous *job.Backfill,
) (err error) {
	if o.Steps, err = b.backfilledSteps(j); err != nil {
		return err
	}
	events, err := b.store.Events(ctx, o.Job, backfillEvents)
	if err != nil {
		return storeError(err)
	}
	var skipped []job.SlotRange
	for _, e := range events {
		if e.Kind == job.EventSkipped && policy.NeverRan(e.Reason) {
			skipped = append(skipped, job.SlotRange{From: e.From, To: e.To})
		}
	}
	decided := b.decidedUntil(j, when)
	o.JobCreated, o.SinceGeneration = j.Created, j.SinceGeneration
	o.Ranges = policy.Backfillable(j, when, previous, skipped, o.From, o.To, decided)
	var steps []*job.Job
	for _, name := range o.Steps {
		if step, known := b.mirror.Job(name); known {
			steps = append(steps, step)
		}
	}
	o.Ranges = policy.StepsBackfillable(o.Ranges, j, steps)
	var exact bool
	if o.Total, exact = policy.CountSlots(when, job.MaxBackfillSlots, o.Ranges...); !exact {
		return invalidField("to", "the range has more than %d slots: backfill a part of it first", job.MaxBackfillSlots)
	}
	return nil
}

// decidedUntil returns the time up to which the slots of a job are decided. Later slots belong to the schedule.
func (b *Backend) decidedUntil(j *job.Job, when *schedule.Schedule) time.Time {
	decided := policy.SlotsAfter(j, when)
	if c, ok := b.mirror.Cursor(j.Name); ok {
		decided = job.Later(decided, c.After)
	}
	return decided
}

// dryRun returns what a backfill would do. Total is the number of slots that would run: slots of a deleted job of this name may
// have runs.
func (b *Backend) dryRun(o *job.Backfill, j *job.Job, when *schedule.Schedule) api.BackfillView {
	v := api.BackfillView{Backfill: *o}
	v.Slots, _ = policy.CountSlots(when, job.MaxBackfillSlots, job.SlotRange{From: o.From, To: o.To})
	open := job.SlotRange{From: job.Later(o.From, b.decidedUntil(j, when).Add(1)), To: o.To}
	v.Open, _ = policy.CountSlots(when, job.MaxBackfillSlots, open)
	for at, ok := o.Next(when, time.Time{}); ok; at, ok = o.Next(when, at) {
		if _, there := b.mirror.Run(o.Job + "/" + job.SlotID(at)); there {
			v.Recorded++
		} else if len(v.First) < shownSlots {
			v.First = append(v.First, at)
		}
	}
	v.Total -= v.Recorded
	v.Unknown = max(0, v.Slots-o.Total-v.Open)
	b.mirror.Runs(o.Job, time.Time{}, func(r *job.Run) bool {
		inRange := job.SlotRange{From: o.From, To: o.To}.Holds(r.Slot) && r.ID == job.SlotID(r.Slot)
		decided := slices.ContainsFunc(o.Ranges, func(part job.SlotRange) bool { return part.Holds(r.Slot) })
		if inRange && !decided && v.Unknown > 0 {
			v.Recorded, v.Unknown = v.Recorded+1, v.Unknown-1
		}
		return false
	})
	return v
}

// StopBackfill stops the running backfill of a job.
func (b *Backend) StopBackfill(ctx context.Context, name, by string) (api.BackfillView, error) {
	if err := b.up(); err != nil {
		return api.BackfillView{}, err
	}
	var began time.Time // of the backfill that this request found first
	o, err := store.Edit(ctx,
		func(ctx context.Context) (job.Backfill, error) { return stored(b.store.Backfill(ctx, name)) },
		func(o job.Backfill) (job.Backfill, bool, error) {
			if began.IsZero() {
				began = o.Created
			}
			if !o.Created.Equal(began) {
				return o, false, refusal("the backfill of job %s has ended, and another one was ordered meanwhile", name)
			}
			now, err := b.now(ctx)
			if err != nil || o.State != job.BackfillRunning {
				return o, false, err
			}
			return o.Stop("stopped by "+by, now), true, nil
		},
		func(ctx context.Context, next job.Backfill) (job.Backfill, error) {
			return stored(b.store.PutBackfill(ctx, next))
		})
	if err != nil {
		return api.BackfillView{}, err
	}
	b.shown(ctx, o.Rev)
	return b.backfillView(&o), nil
}

// Backfill returns the latest backfill of a job.
func (b *Backend) Backfill(_ context.Context, name string) (api.BackfillView, error) {
	if err := b.up(); err != nil {
		return api.BackfillView{}, err
	}
	o, ok := b.mirror.Backfill(name)
	if !ok {
		return api.BackfillView{}, fmt.Errorf("backfill of job %s: %w", name, job.ErrNotFound)
	}
	return b.backfillView(o), nil
}

// Backfills returns the latest backfill of each job.
func (b *Backend) Backfills(context.Context) (views []api.BackfillView, err error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	for _, o := range b.mirror.Backfills() {
		views = append(views, b.backfillView(o))
	}
	return views, nil
}

func (b *Backend) backfillView(o *job.Backfill) api.BackfillView {
	v := api.BackfillView{Backfill: *o, Revision: o.Rev}
	all := job.SlotRange{From: o.From, To: o.To}
	active := make(map[string]bool) // by slot
	for _, name := range append([]string{o.Job}, o.Steps...) {
		b.mirror.Runs(name, time.Time{}, func(r *job.Run) bool {
			switch {
			case r.Kind != job.KindBackfill || !all.Holds(r.Slot):
			case !r.State.Terminal():
				active[r.ID] = true
			case r.State != job.Succeeded && r.State != job.Skipped:
				v.Failed++
			}
			return false
		})
	}
	v.Active = len(active)
	return v
}
