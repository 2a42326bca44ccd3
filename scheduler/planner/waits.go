package planner

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxExplained is how many waiting runs of a job are told why. Those behind them wait for those before them.
const maxExplained = 100

// explanation tells one of a job's runs that wait why it does.
type explanation struct {
	runs     int           // that wait, as far as they have been looked at
	decision *job.Decision // tells the first of them that is to be told something else than it was; nil: none is
}

func (e *explanation) tell(r *job.Run, reason string) {
	if e.decision == nil && e.runs <= maxExplained && r.Reason != reason {
		next := *r
		next.Reason = reason
		e.decision = &job.Decision{Run: &next}
	}
}

// tellHeld tells r that it waits for another run of its job, or until that is not paused any more.
func (e *explanation) tellHeld(r *job.Run, paused bool) {
	why := reasonHeld
	if paused {
		why = reasonPaused
	}
	if waits(r.Reason) || paused && strings.HasPrefix(r.Reason, reasonBehind) {
		e.tell(r, why)
	}
}

// Why a run that is due waits.
const (
	reasonNoRoom   = "no worker has room"
	reasonNoWorker = "no worker accepts it: none is present with its labels or handler"
	reasonNoLimits = "no worker accepts it: none is present with its labels that can limit its resources"
	reasonHeld     = "overlap: waits for an earlier run of the job"
	reasonBehind   = "overlap: waits for run " // and which
	reasonPaused   = "paused"

	reasonUnreadable = "the job's definition cannot be read"
)

// reasonUnknown is why a run is not ended though its worker was lost.
const reasonUnknown = "its worker was lost; whether it may be tried again says the job's definition, which cannot be read"

func waitReason(spec *job.Spec, anybody bool) string {
	switch {
	case anybody:
		return reasonNoRoom
	case spec.Resources != nil:
		return reasonNoLimits
	}
	return reasonNoWorker
}

// waits says whether reason tells no more than that a run waits, so that a new one may take its place.
func waits(reason string) bool {
	switch reason {
	case "", reasonNoRoom, reasonNoWorker, reasonNoLimits, reasonHeld, reasonPaused, reasonUnreadable, job.ReasonNotYet, job.ReasonNew:
		return true
	}
	for _, why := range []string{"limit ", "rate ", "breaker "} { // what bar says
		if strings.HasPrefix(reason, why) {
			return true
		}
	}
	return false
}
