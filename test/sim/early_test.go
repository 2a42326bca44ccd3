package sim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// underWay is how long before its record is seen a decision may have been made: requests are late by up to 8 s.
const underWay = 10 * time.Second

// given is an attempt as a leader gave it to a worker.
type given struct {
	due  time.Time // zero: nobody promises when it begins
	seen time.Time
}

// judgeEarly sees to it that nothing begins before its time, by more than the clock of a leader may be off, and returns the runs
// that did because a clock was set wrong: nobody can tell which clock is right while only one replica runs, or one has been set
// this instant. What a worker's clock shows is no excuse.
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
			excused[e.Run] = true
			continue
		}
		w.fail("attempt %d of %s began at %s, %v before its time", e.Attempt, e.Run, clockTime(e.Arrived), early)
		w.suspect(e.Job)
	}
	return excused
}

// mostAhead is how far the clock of a replica was ahead at the most, between two instants.
func (w *world) mostAhead(from, to time.Time) (most time.Duration) {
	for _, m := range w.machines {
		if m.replica {
			most = max(most, m.clock.most(from, to))
		}
	}
	return most
}

// attempts are those that were given out, by run and token. The first attempt of a run has a time that does not depend on the
// clock of a worker; what is tried again must not begin before its slot.
func (w *world) attempts() map[string]map[int64]given {
	found := make(map[string]map[int64]given)
	for _, v := range w.recorder.history() {
		name, isRun := strings.CutPrefix(v.Key, prefix+"/runs/")
		var r job.Run
		if !isRun || v.Deleted || json.Unmarshal(v.Value, &r) != nil || r.State != job.Armed {
			continue
		}
		g := given{due: r.Due, seen: v.Seen}
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
