package sim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Counters of runs that are armed ahead. If one of them stays at zero, the simulation no longer tests runs that are armed
// ahead.
const (
	armedAhead   = "runs armed ahead"
	takenBack    = "runs armed ahead and withdrawn by a leader"
	handedBack   = "runs armed ahead, and handed back by a worker"
	claimedEarly = "runs claimed before their time"
	lostEarly    = "runs claimed before their time, and lost before it"
	outlived     = "runs armed ahead by a leader, and claimed under another one or none"
	leadersClock = "runs held by the leader's clock"
)

var armed = []string{armedAhead, takenBack, handedBack, claimedEarly, lostEarly, outlived, leadersClock}

// isAhead reports whether a run was armed at a worker before its time.
func isAhead(r *job.Run) bool { return r.State == job.Armed && r.Due.After(r.Armed) }

// tallyArmed reads the records and counts the results of runs that were armed ahead.
func (w *world) tallyArmed() {
	runs, candidates := make(map[string]job.Run), make(map[string]int64)
	for _, v := range w.recorder.history() {
		kind, name, _ := strings.Cut(strings.TrimPrefix(v.Key, prefix+"/"), "/")
		switch {
		case kind == "election" && v.Deleted:
			delete(candidates, name)
		case kind == "election":
			candidates[name] = v.Create
		case kind != "runs" || v.Deleted:
		default:
			var r job.Run
			if json.Unmarshal(v.Value, &r) != nil {
				continue
			}
			w.tallyStep(runs[name], r, v.Seen, oldest(candidates))
			runs[name] = r
		}
	}
}

// tallyStep counts one step of a run that the recorder saw under a term.
func (w *world) tallyStep(was, is job.Run, seen time.Time, term int64) {
	switch {
	case isAhead(&was) && is.State == job.Running:
		if !w.plan.liars && seen.Before(is.Started) {
			w.tally.add(claimedEarly)
		}
		if was.Term != term {
			w.tally.add(outlived)
		}
	case was.State == job.Running && len(is.Attempts) > 0:
		if last := is.Attempts[len(is.Attempts)-1]; last.Token == was.Token && last.State == job.Lost && last.Finished.Before(was.Due) {
			w.tally.add(lostEarly)
		}
	}
}

func oldest(candidates map[string]int64) (term int64) {
	for _, create := range candidates {
		if term == 0 || create < term {
			term = create
		}
	}
	return term
}
