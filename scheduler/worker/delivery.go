package worker

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// unreadablePause is the pause between two sends of a report whose run has an unreadable record.
const unreadablePause = time.Second

// send sends r until the store's answer is definite, and then removes it from the journal. If ctx ends before, a report that is
// in the journal stays there.
//
// If the record of the run is unreadable, r waits too: once an operator repairs the record, only this report can end the run.
// The caller has counted r in w.unsent. The end of a session and the end of the worker wait for the reports in w.unsent. They
// do not wait for the reports in w.blocked.
func (w *Worker) send(ctx context.Context, r *report) {
	r.ctx, r.countedIn = ctx, &w.unsent
	w.outbox.submit(func() { w.trySend(r) })
}

// trySend sends r once. If the record of the run is unreadable, it schedules another send.
func (w *Worker) trySend(r *report) {
	switch err := w.deliver(r); {
	case err == nil:
		if w.journal != nil {
			w.journal.remove(r)
		}
	case errors.Is(err, job.ErrUnreadable):
		w.awaitRepair(r, err)
		return
	case !r.journaled:
		w.logOf(r).Error("outcome is lost: neither the store nor the journal took it", "err", err)
	case errors.Is(err, job.ErrTooLarge):
		w.logOf(r).Error("outcome cannot be written and stays in the journal", "err", err)
		w.journal.separate(r)
	default:
		w.logOf(r).Warn("outcome waits in the journal", "err", err)
	}
	if r.outlives {
		w.mu.Lock()
		delete(w.ending, r.Run.Name())
		w.mu.Unlock()
	}
	w.count(r.countedIn, -1)
}

// deliver writes the report to the store. nil means that it need not be sent again.
func (w *Worker) deliver(r *report) error {
	current, leaveOut := r.Run, trimNothing
	for {
		next, err := r.apply(current, leaveOut)
		if err != nil { // another program wrote the record in the journal
			w.logOf(r).Error("outcome does not fit its run", "err", err)
			return nil
		}
		current, err = w.write(r.ctx, next)
		switch {
		case err == nil:
			if w.cfg.Tracer != nil {
				w.traceSettled(r, current)
			}
			if w.log.IsDebug() {
				w.logOf(r).Debug("outcome written")
			}
			return nil
		case errors.Is(err, job.ErrConflict) && r.open(&current):
			// The record was changed meanwhile, for example by a request to cancel.
		case errors.Is(err, job.ErrConflict):
			return w.settleRefused(r, &current)
		case errors.Is(err, job.ErrTooLarge) && leaveOut < trimPayload:
			w.logOf(r).Warn("outcome is too large and is cut", "err", err)
			current, leaveOut = r.Run, leaveOut+1
		default:
			return err
		}
	}
}

// settleRefused ends the delivery of r, which the store refuses. current is the present record of the run, zero if there is none.
func (w *Worker) settleRefused(r *report, current *job.Run) error {
	fate := r.fateIn(current)
	if fate == forgotten && r.begun() {
		var err error
		if fate, err = w.fateBefore(r); err != nil {
			return err
		}
	}
	switch {
	case fate == taken:
		w.logOf(r).Debug("outcome was written before")
		return nil
	case !r.begun():
		w.logOf(r).Debug("attempt was given up before it began", "now", current.State)
		return nil
	}
	w.logOf(r).Warn("outcome came too late", "now", current.State)
	w.cfg.Observer.Fenced(&r.Run, &r.Outcome)
	return w.record(r.ctx, r.fencedEvent(current, fate))
}

// fateBefore finds out what the store has made of r, from the records before the present one. The store may have applied an earlier
// send whose answer was lost, or which the last process did not note in the journal. It returns an error only if the delivery ends.
func (w *Worker) fateBefore(r *report) (fate, error) {
	for rev := r.Rev; ; {
		next, found := job.Run{}, true
		err := w.untilDefinite(r.ctx, "read the end of run "+r.Run.Name(), func() (err error) {
			if next, err = w.store.Replaced(r.ctx, r.Run.Job, r.Run.ID, rev); errors.Is(err, job.ErrNotFound) {
				found, err = false, nil
			}
			return err
		})
		switch {
		case err != nil || !found:
			return forgotten, err
		case !r.open(&next): // otherwise it is the claim, or a request to cancel
			return r.fateIn(&next), nil
		}
		rev = next.Rev
	}
}

// traceSettled reports that the store took r. settled is the record after that.
func (w *Worker) traceSettled(r *report, settled job.Run) {
	var took time.Duration
	if !r.ended.IsZero() {
		took = w.now().Sub(r.ended)
	}
	w.cfg.Tracer.Settled(&r.Run, &settled, took)
}

// awaitRepair sends the report again after a pause, since the record of its run is unreadable.
func (w *Worker) awaitRepair(r *report, why error) {
	if !r.blocked {
		r.blocked = true
		w.logOf(r).Error("outcome waits until the unreadable record of its run is repaired", "err", why)
		if r.journaled {
			w.count(&w.blocked, 1)
			w.count(r.countedIn, -1)
			r.countedIn = &w.blocked
		}
	}
	if r.journaled {
		w.journal.separate(r)
	}
	w.table.after(r.ctx, unreadablePause, func() { w.outbox.submit(func() { w.trySend(r) }) })
}

// logOf returns the log with the fields of a report.
func (w *Worker) logOf(r *report) hclog.Logger {
	run := &r.Run
	return w.log.With("run", run.Name(), "attempt", run.Attempt, "token", run.Token, "state", r.Outcome.State)
}

// replay sends the reports that an earlier process left in the journal.
func (w *Worker) replay(ctx context.Context) {
	if w.journal == nil {
		return
	}
	reports, unreadable := w.journal.load()
	for _, err := range unreadable {
		w.log.Error("journal entry is unreadable and stays in the journal", "err", err)
	}
	if len(reports) > 0 {
		w.log.Info("delivering outcomes of the last process", "count", len(reports))
	}
	for _, r := range reports {
		w.count(&w.unsent, 1)
		w.table.start(func() { w.send(ctx, r) })
	}
}
