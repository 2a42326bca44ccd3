package worker

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// handPause is how long an outcome waits where nobody can read the record that it belongs to, until it is sent again.
const handPause = time.Second

// delivery is a report on its way to the store.
type delivery struct {
	w     *Worker
	ctx   context.Context
	r     *report
	kept  bool   // in the journal
	waits bool   // for somebody's hand
	in    *tally // where it is counted
}

// send sends r until the store's answer is definite, and forgets it then. When ctx ends before, r stays in the journal, if it was
// kept there. So it waits while nobody can read the run's record: when somebody puts that right, it is of a run which nobody else
// would end. The caller has counted r as unsent; sessions and a stop wait for those, and for none that waits for somebody's hand.
func (w *Worker) send(ctx context.Context, r *report, kept bool) {
	d := &delivery{w: w, ctx: ctx, r: r, kept: kept, in: &w.unsent}
	w.outbox.do(d.try)
}

// try is send, until the record turns out to be one that nobody can read. It tries again later then.
func (d *delivery) try() {
	w := d.w
	switch err := d.deliver(); {
	case err == nil:
		if w.journal != nil {
			w.journal.forget(d.r)
		}
	case errors.Is(err, job.ErrUnreadable):
		d.await(err)
		return
	case !d.kept:
		d.log().Error("outcome is lost, which neither the store nor the journal took", "err", err)
	case errors.Is(err, job.ErrTooLarge):
		d.log().Error("outcome cannot be written and stays in the journal", "err", err)
	default:
		d.log().Warn("outcome waits in the journal", "err", err)
	}
	w.count(d.in, -1)
}

// deliver sends the report. nil means that it need not be sent again.
func (d *delivery) deliver() error {
	w, r := d.w, d.r
	current, leave := r.Run, whole
	for {
		next, err := r.apply(current, leave)
		if err != nil { // not an arrow: the record in the journal is not one that we wrote
			d.log().Error("outcome does not fit its run", "err", err)
			return nil
		}
		current, err = w.write(d.ctx, next)
		switch {
		case err == nil:
			if w.log.IsDebug() {
				d.log().Debug("outcome written")
			}
			return nil
		case errors.Is(err, job.ErrConflict) && r.open(&current):
			// Somebody, say a request to cancel, wrote the record meanwhile.
		case errors.Is(err, job.ErrConflict) && r.told(&current):
			d.log().Debug("outcome was written before")
			return nil
		case errors.Is(err, job.ErrConflict) && !r.begun():
			d.log().Debug("attempt had not begun when it was given up", "now", current.State)
			return nil
		case errors.Is(err, job.ErrConflict):
			d.log().Warn("outcome came too late", "now", current.State)
			w.cfg.Observer.Fenced(&r.Run, &r.Outcome)
			return w.record(d.ctx, r.tooLate(&current))
		case errors.Is(err, job.ErrTooLarge) && leave < withoutInput:
			d.log().Warn("outcome is too large and is cut", "err", err)
			current, leave = r.Run, leave+1
		default:
			return err
		}
	}
}

// await has the report sent again after a while, since nobody can read the record that it belongs to.
func (d *delivery) await(why error) {
	w := d.w
	if !d.waits {
		d.waits = true
		d.log().Error("outcome waits: somebody has put in the place of its run what nobody can read", "err", why)
		if d.kept {
			w.count(&w.stuck, 1)
			w.count(d.in, -1)
			d.in = &w.stuck
		}
	}
	w.table.after(d.ctx, handPause, func() { w.outbox.do(d.try) })
}

func (d *delivery) log() hclog.Logger {
	run := &d.r.Run
	return d.w.log.With("run", run.Name(), "attempt", run.Attempt, "token", run.Token, "state", d.r.Outcome.State)
}

// replay takes up what the journal kept when the last process ended.
func (w *Worker) replay(ctx context.Context) {
	if w.journal == nil {
		return
	}
	reports, unreadable := w.journal.load()
	for _, err := range unreadable {
		w.log.Error("journal entry is left alone", "err", err)
	}
	if len(reports) > 0 {
		w.log.Info("delivering outcomes of the last process", "count", len(reports))
	}
	for _, r := range reports {
		w.count(&w.unsent, 1)
		w.table.start(func() { w.send(ctx, r, true) })
	}
}
