package backend

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// meanwhile is a wallClock that calls do once, while a request is under way.
type meanwhile struct {
	wallClock
	do func()
}

func (m *meanwhile) Now(ctx context.Context) (time.Time, error) {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.wallClock.Now(ctx)
}

func TestAStopLeavesALaterBackfillAlone(t *testing.T) {
	b := inMemory(t)
	b.define(t, "pay", `{"command":["true"],"every":"1h"}`)
	order := func(at time.Time) job.Backfill {
		o := job.Backfill{
			Job: "pay", From: at.Add(-time.Hour), To: at, Order: job.OldestFirst, Concurrency: 1, State: job.BackfillRunning, Created: at,
		}
		v, err := b.StartBackfill(t.Context(), o, false)
		if err != nil {
			t.Fatal(err)
		}
		o = v.Backfill
		o.Rev = v.Revision
		return o
	}
	first := order(time.Now().UTC().Add(-time.Hour))
	var later job.Backfill
	b.clocks = &meanwhile{do: func() {
		first.State, first.Finished = job.BackfillDone, time.Now().UTC() // as the leader does
		if _, err := b.store.PutBackfill(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		later = order(time.Now().UTC())
	}}
	if _, err := b.StopBackfill(t.Context(), "pay", "me"); !errors.As(err, new(*api.Refusal)) {
		t.Errorf("got %v, want a refusal", err)
	}
	if got, err := b.store.Backfill(t.Context(), "pay"); err != nil || got.State != job.BackfillRunning || got.Rev != later.Rev {
		t.Errorf("the later backfill is %s (%v), want it running", got.State, err)
	}
}

// No later request of the same kind can succeed, so this is no conflict.
func TestABackfillOfTooManySlotsIsInvalid(t *testing.T) {
	b := inMemory(t)
	b.define(t, "pay", `{"command":["true"],"every":"1s"}`)
	o := job.Backfill{Job: "pay", From: time.Now().AddDate(-1, 0, 0).UTC(), To: time.Now().UTC(), Order: job.OldestFirst, Concurrency: 1}
	wrong, ok := errors.AsType[*api.Invalid](func() error { _, err := b.StartBackfill(t.Context(), o, false); return err }())
	if !ok || len(wrong.Errors) != 1 || wrong.Errors[0].Field != "to" {
		t.Errorf("got %v, want a mistake in to", wrong)
	}
}
