package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// runningBackfills lists the backfills that have not ended.
func (w *world) runningBackfills() (left []string) {
	for _, b := range w.backfills() {
		if b.State == job.BackfillRunning && b.last {
			left = append(left, fmt.Sprintf("backfill of %s is at %v: %d of %d slots", b.Job, b.Position, b.Started+b.Passed, b.Total))
		}
	}
	return left
}

// backfilled is the latest version of a backfill.
type backfilled struct {
	job.Backfill
	last bool // it is the latest backfill of its job
}

// backfills returns the backfills of all jobs, in their order.
func (w *world) backfills() (list []backfilled) {
	for _, b := range w.recorder.backfillVersions() {
		if n := len(list); n > 0 && list[n-1].Created.Equal(b.Created) {
			list[n-1].Backfill = b
			continue
		} else if n > 0 {
			list[n-1].last = false
		}
		list = append(list, backfilled{b, true})
	}
	return list
}

// judgeBackfills checks that each slot that a backfill has decided has one run, which has ended.
func (w *world) judgeBackfills() {
	runs := w.endings()
	for _, r := range runs {
		if r.Kind == job.KindBackfill && r.Job == past {
			w.tally.add(slotBackfilled)
		}
		if r.State == job.Skipped && strings.HasPrefix(r.Reason, "not approved") {
			w.tally.add(expiredRun)
		}
	}
	for _, b := range w.backfills() {
		spec := w.specOf(b.Job)
		when, err := policy.When(b.Job, &spec)
		if err != nil {
			w.t.Error(err)
			return
		}
		decided := 0
		for slot, more := b.Next(when, time.Time{}); more && !b.Position.IsZero(); slot, more = b.Next(when, slot) {
			name := b.Job + "/" + job.SlotID(slot)
			if _, ended := runs[name]; !ended {
				w.fail("the backfill of %s has decided %s, which has no run that ended", b.Job, name)
				w.suspect(b.Job)
			}
			if decided++; slot.Equal(b.Position) {
				break
			}
		}
		if decided != b.Started+b.Passed {
			w.fail("the backfill of %s has started %d runs and passed %d slots up to %v, which is slot %d", b.Job, b.Started, b.Passed, b.Position, decided)
		}
		if b.State != job.BackfillDone {
			continue
		}
		w.tally.add(backfillEnded)
		if decided != b.Total {
			w.fail("the backfill of %s is done after %d of %d slots", b.Job, decided, b.Total)
		}
	}
}
