package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// Reasons in the records of runs and of skipped ranges. Those of the missed policy, of retries and of lost workers are in
// package policy.
//
// Some reasons are state: the next leader compares them, and during an upgrade it may be of another version. So
// reasonOverdue, reasonNotStarted, reasonReplaced, reasonBehind and the reasons of isWaitReason keep the words of version 0.1.0.

// The reasons of a due run that waits. A run that is not due yet has the reason job.ReasonNotYet. A new submission has
// job.ReasonNew.
const (
	reasonNoRoom     = "no worker has room"
	reasonNoSpare    = "no worker has room to spare for a backfill"
	reasonDueRun     = "a due run of the job waits" // also of a backfill
	reasonDueRuns    = "due runs wait for room"
	reasonNoWorker   = "no worker accepts it: none is present with its labels or handler"
	reasonClosed     = "no worker accepts it: those with its labels and handler accept no new runs now"
	reasonNoLimits   = "no worker accepts it: none is present with its labels that can limit its resources"
	reasonOverlap    = "overlap: waits for an earlier run of the job"
	reasonBehind     = "overlap: waits for run " // followed by the run's id
	reasonPaused     = policy.ReasonPaused
	reasonUnreadable = "the job's definition cannot be read"
)

// reasonAway is the reason of a run whose kind is away on each worker that suits it: see job.Worker.Away.
func reasonAway(kind string) string { return reasonAwayStart + kind + " now" }

const reasonAwayStart = "no worker accepts it: those with its labels cannot start jobs of kind "

// reasonNotThere is the reason of a run that waits for the only worker that may execute it.
func reasonNotThere(worker string) string {
	return "no worker accepts it: it may run only on worker " + worker
}

// reasonAbsent is the reason of a run that has waited too long for the only worker that may execute it.
func reasonAbsent(worker string) string {
	return fmt.Sprintf("worker %s was absent, or did not accept the run, for %v", worker, job.Duration(awaitWorker))
}

// The reasons of a slot that is skipped after its schedule was changed.
const (
	reasonChanged   = "the schedule was changed before this slot ran"
	reasonOvertaken = policy.ReasonOvertaken
)

// The reasons of a slot that is skipped because of another run of its job.
const reasonLaterSlot = "overlap: a later slot replaces it"

func reasonActive(run string) string    { return "overlap: run " + run + " is still active" }
func reasonWasActive(run string) string { return "overlap: run " + run + " was still active" }
func reasonWouldBeActive(run string) string {
	return "overlap: run " + run + " would still have been active if it had begun in time"
}
func reasonQueueFull() string { return fmt.Sprintf("overlap: %d runs are queued already", MaxQueued) }

// The reasons of a step that is skipped although its parents allow it to run.
func reasonOff(why string) string { return "calendar: " + why }
func reasonNoParam(name string) string {
	return "parameter " + name + " is required, and only a client can give it"
}

// reasonReplaced is the reason of a run that is stopped for a later slot, whose id follows. hasReplaced recognizes it.
const reasonReplaced = "overlap: replaced by slot "

// The reasons of a run that is taken back from its worker, or ended.
const (
	reasonJobChanged = "the job was changed"
	reasonJobDeleted = "the job was deleted"
	reasonTooLarge   = "its record is too large for the store"

	// reasonOverdue marks a run whose worker was asked to stop it. stopOverdueRun recognizes it.
	reasonOverdue = policy.Overdue
	// reasonUnknown is the reason of a run that has not ended although its worker was lost.
	reasonUnknown = "its worker was lost, and it is unknown whether it may run again: the job's definition cannot be read"
	// reasonUnknown010 is the text that version 0.1.0 records for reasonUnknown.
	reasonUnknown010 = "its worker was lost; whether it may be tried again says the job's definition, which cannot be read"
)

// reasonNotStarted is the reason of a waiting run that a present worker held for too long without starting it. While a run has
// this reason, avoidRank puts that worker last.
func reasonNotStarted(worker string) string { return "worker " + worker + " did not begin it" }

// reasonWaited is the reason of a run that was skipped because it waited longer than start_within.
func reasonWaited(within job.Duration) string { return fmt.Sprintf("waited longer than %v", within) }

func reasonDraining(worker string) string { return "worker " + worker + " is draining" }
func reasonLost(worker string) string     { return "worker " + worker + " was lost" }
func reasonNotStopped(worker string) string {
	return "worker " + worker + " did not stop it after its timeout"
}

// The reasons of a run that a limit, a rate or a breaker holds back. isWaitReason recognizes their first words.

func reasonUndefined(limit string) string { return "limit " + limit + " is not defined" }

func reasonLimitFull(limit string, held, concurrent int) string {
	return fmt.Sprintf("limit %s is full (%d of %d)", limit, held, concurrent)
}

func reasonLimitRate(limit string, rate job.Rate) string {
	return fmt.Sprintf("limit %s: at most %v may start", limit, rate)
}

func reasonJobRate(job string, rate job.Rate) string {
	return fmt.Sprintf("rate of job %s: at most %v may start", job, rate)
}

func reasonBreakerOpen(until time.Time, failed int) string {
	return fmt.Sprintf("breaker open until %s: %d of the latest attempts failed", until.UTC().Format(time.RFC3339), failed)
}

func reasonBreakerProbe(run string) string {
	return "breaker half-open: waits for the result of run " + run
}

// noWorkerReason returns why no worker takes the run r of spec. accepted means that at least one worker accepts such runs, but has
// no room.
func (p *Planner) noWorkerReason(spec *job.Spec, r *job.Run, accepted bool) string {
	switch {
	case accepted:
		return reasonNoRoom
	case r.On != "":
		return reasonNotThere(r.On)
	case p.suited(spec, true):
		return reasonAway(spec.Kind())
	case p.suited(spec, false):
		return reasonClosed
	case len(spec.LimitedByWorker()) > 0:
		return reasonNoLimits
	}
	return reasonNoWorker
}

// isUnknownReason reports whether reason says that it is unknown whether the run may run again.
func isUnknownReason(reason string) bool {
	return reason == reasonUnknown || reason == reasonUnknown010
}

// isWaitReason reports whether reason only says that a run waits. A newer reason may replace it.
func isWaitReason(reason string) bool {
	switch reason {
	case "", reasonNoRoom, reasonNoWorker, reasonClosed, reasonNoLimits, reasonOverlap, reasonPaused, reasonUnreadable,
		job.ReasonNotYet, job.ReasonNew:
		return true
	}
	for _, start := range []string{"limit ", "rate ", "breaker ", reasonNotThere(""), reasonAwayStart} {
		if strings.HasPrefix(reason, start) {
			return true
		}
	}
	return false
}

// maxExplained is how many waiting runs of a job get a reason. The runs after them wait for the runs before them.
const maxExplained = 100

// explanation collects why a job's runs wait. Its decision changes the reason of one run.
type explanation struct {
	runs     int           // waiting runs seen up to now
	decision *job.Decision // writes the first reason that changes; nil: none does
}

// add records why r waits.
func (e *explanation) add(r *job.Run, reason string) {
	if e.decision == nil && e.runs <= maxExplained && r.Reason != reason {
		next := *r
		next.Reason = reason
		e.decision = &job.Decision{Run: &next}
	}
}

// addBlocked records that r, a run of j, waits for another run of its job, or for the end of a pause.
func (e *explanation) addBlocked(j *jobState, r *job.Run, paused bool) {
	why := reasonOverlap
	if paused {
		why = reasonPaused
	}
	behind, named := strings.CutPrefix(r.Reason, reasonBehind)
	if isWaitReason(r.Reason) || named && (paused || j.live.get(behind) == nil) {
		e.add(r, why)
	}
}
