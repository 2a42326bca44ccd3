package sim

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// underWay is the longest time between a decision and its record: requests are up to 8 s late.
const underWay = 10 * time.Second

// given is an attempt as a leader gave it to a worker.
type given struct {
	of   string    // the run, or the run of which it is a copy
	due  time.Time // zero: it has no promised start
	seen time.Time
}

// judgeEarly checks that no execution starts before its time by more than the tolerated error of a leader's clock. It returns
// the runs that started earlier because a clock was set wrong. They are excused: while only one replica runs, or at the instant
// of the setting, no replica can know which clock is right. The clock of a worker is no excuse.
func (w *world) judgeEarly(list []*execution) (excused map[string]bool) {
	excused = make(map[string]bool)
	attempts := w.attempts()
	for _, e := range list {
		g, known := attempts[e.Run][e.Token]
		early := g.due.Sub(e.Arrived)
		if !known || g.due.IsZero() || early <= usualOffset {
			continue
		}
		if early <= w.mostAhead(g.seen.Add(-underWay), e.Arrived) {
			w.tally.add("begun early under a clock that was set wrong")
			excused[e.Run], excused[g.of] = true, true
			continue
		}
		w.fail("attempt %d of %s began at %s, %v before its time", e.Attempt, e.Run, clockTime(e.Arrived), early)
		w.suspect(e.Job)
	}
	return excused
}

// mostAhead returns the largest offset of a replica's clock between two instants.
func (w *world) mostAhead(from, to time.Time) (most time.Duration) {
	for _, m := range w.machines {
		if m.replica {
			most = max(most, m.clock.most(from, to))
		}
	}
	return most
}

// attempts returns the attempts that leaders gave to workers, by run and token. The time of a first attempt does not depend on
// the clock of a worker. A retry must not start before its slot.
func (w *world) attempts() map[string]map[int64]given {
	found := make(map[string]map[int64]given)
	for _, v := range w.recorder.history() {
		name, isRun := strings.CutPrefix(v.Key, prefix+"/runs/")
		var r job.Run
		if !isRun || v.Deleted || json.Unmarshal(v.Value, &r) != nil || r.State != job.Armed {
			continue
		}
		g := given{of: r.Job + "/" + cmp.Or(r.CopyOf(), r.ID), due: r.Due, seen: v.Seen}
		if r.Attempt > 1 {
			g.due = time.Time{}
			if r.Kind == job.KindScheduled {
				g.due = r.Slot
			}
		}
		if found[name] == nil {
			found[name] = make(map[int64]given)
		}
		found[name][v.Rev] = g
	}
	return found
}
