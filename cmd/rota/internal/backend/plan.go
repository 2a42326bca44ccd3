package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// explainEvents is how many of the latest events of a job Explain reads.
const explainEvents = 1000

// Next returns the first n slots of a job after from.
func (b *Backend) Next(_ context.Context, name string, from time.Time, n int) (api.NextView, error) {
	j, err := b.known(name)
	if err != nil {
		return api.NextView{}, err
	}
	v := api.NextView{Slots: []time.Time{}, Notes: []string{}}
	when, err := b.slotsOf(j)
	if j.Spec.Step() {
		v.Notes = append(v.Notes, "a step: each run starts when the runs of its parents have ended: "+namesOf(j.Spec.After))
	}
	switch {
	case err != nil:
		return v, noSlots(name, err)
	case when == nil && j.Spec.Step():
		return v, nil
	case when == nil:
		v.Notes = append(v.Notes, "the job has no schedule of its own: it runs when asked")
		return v, nil
	}
	if c, ok := b.mirror.Cursor(name); ok && attention.IsAhead(c, b.present()) && c.After.After(from) {
		from = c.After
		v.Notes = append(v.Notes, "no slot runs until "+from.UTC().Format(time.RFC3339)+", because the cursor of the job is there")
	}
	until := from
	for at, ok := when.Next(from); ok && len(v.Slots) < n; at, ok = when.Next(at) {
		v.Slots, until = append(v.Slots, at), at
	}
	v.Notes = append(v.Notes, when.Notes(from, until, 5)...)
	if d := when.Offset(); d > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("runs begin %s after their slots: the job's jitter", d))
	}
	if b.mirror.Gate().Paused != nil || j.Paused != nil {
		v.Notes = append(v.Notes, "paused: slots that pass meanwhile are skipped")
	}
	return v, nil
}

// Explain explains what happened to a slot. It also works if the job was deleted, or had another schedule at that time.
func (b *Backend) Explain(ctx context.Context, name string, at time.Time) (api.ExplainView, error) {
	if err := b.up(); err != nil {
		return api.ExplainView{}, err
	}
	f := explain.Facts{Gate: b.mirror.Gate(), Now: b.present()}
	if j, known := b.mirror.Job(name); known {
		f.Job = j
		f.When, f.Bad = b.slotsOf(j)
	}
	f.Broken = b.mirror.Unreadable(name)
	f.Cursor, _ = b.mirror.Cursor(name)
	r, err := b.runAt(ctx, name, f.When, at)
	if err != nil {
		return api.ExplainView{}, err
	}
	if slot, ok := explain.Slot(f.When, at); ok && f.Job != nil && f.Job.Spec.Step() {
		f.Parents = b.parentsAt(f.Job, slot)
	}
	if f.Events, err = b.store.Events(ctx, name, explainEvents); err != nil {
		return api.ExplainView{}, storeError(err)
	}
	f.Active = b.mirror.Runs(name, f.Now, func(r *job.Run) bool { return r.Active(f.Now) })
	if leader := b.leader(ctx); leader != nil {
		f.Leader = leader.Node
	}
	if f.Run = r; r != nil {
		f.Copies = b.copiesOf(r)
		f.Before = b.mirror.Runs(name, f.Now, func(o *job.Run) bool {
			return o.Slot.Before(r.Slot) && (o.State.Terminal() || o.Active(f.Now))
		})
	}
	a := explain.Explain(f, at)
	if a.Verdict == explain.Unknown {
		return api.ExplainView{}, fmt.Errorf("job %s: %w", name, job.ErrNotFound)
	}
	v := api.ExplainView{Job: name, Asked: at, Verdict: a.Verdict, Text: a.Text}
	if r != nil && r.Slot.Equal(a.Slot) {
		v.State, v.Ref, v.Late, v.Behind = r.State, r.Name(), a.Late, a.Behind
	}
	if !a.Slot.IsZero() {
		v.Slot = &a.Slot
	}
	return v, nil
}

// runAt reads the run of the slot at at, nil if there is none. It looks for a slot of the present schedule, and of earlier ones. A
// run in the very second of at comes before a slot of the present schedule that is only in the same minute.
func (b *Backend) runAt(ctx context.Context, name string, when *schedule.Schedule, at time.Time) (*job.Run, error) {
	slot, ok := explain.Slot(when, at)
	inSecond := func(t time.Time) bool { return t.Truncate(time.Second).Equal(at.Truncate(time.Second)) }
	if !ok || !inSecond(slot) {
		minute := at.Truncate(time.Minute)
		earlier := b.mirror.Runs(name, time.Time{}, func(r *job.Run) bool {
			return (r.Kind == job.KindScheduled || r.Kind == job.KindBackfill) && r.Slot.Truncate(time.Minute).Equal(minute)
		})
		slots := make([]time.Time, len(earlier))
		for i, r := range earlier {
			slots[i] = r.Slot
		}
		if among, found := explain.SlotAmong(slots, at); found && (!ok || inSecond(among)) {
			slot, ok = among, true
		}
	}
	if !ok {
		return nil, nil
	}
	r, err := b.store.Run(ctx, name, job.SlotID(slot))
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, storeError(err)
	}
	return &r, nil
}
