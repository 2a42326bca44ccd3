package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// plea is a reason in the store for slots that did not run. It counts only if the job's definition, the faults, and the results
// of other slots and runs support it.
type plea struct {
	job      Job // with the definition in force
	from, to time.Time
	run      string // the run that did not start; empty: a range of slots
	reason   string
	at       time.Time // when it was decided, by the leader's clock
	rev      int64
	seen     time.Time // when the recorder heard of it
}

// clockReading is the tolerance for the order of two readings of one clock.
const clockReading = 20 * time.Millisecond

// maxQueued is how many runs of a job may wait under the policies queue and allow.
const maxQueued = 100

// refute returns why there is no evidence for a plea; "" if there is.
func (t *timeline) refute(p plea) string {
	policy, rest, _ := strings.Cut(p.reason, ": ")
	switch {
	case p.reason == "":
		return "it has no reason"
	case policy == "missed":
		return t.refuteMissed(p, rest)
	case policy == "overlap" && p.run != "":
		return t.refuteOverlap(p, rest)
	case p.reason == "paused":
		if !t.wasPaused(p) {
			return "it was not paused"
		}
		return ""
	case p.run != "" && unapproved(p.reason): // see checkUnapproved
		return ""
	case strings.HasPrefix(p.reason, "the schedule was changed "):
		if !t.wasChanged(p.job.Name, p.rev) {
			return "its definition was not changed"
		}
		return ""
	}
	return "no policy has this reason"
}

// refuteMissed does the same as refute, for slots whose reason says that no replica could dispatch them in time.
func (t *timeline) refuteMissed(p plea, why string) string {
	spec, later := &p.job.Spec, 0
	window := spec.MissedWindow.Std()
	switch {
	case !t.couldNotDispatch(p):
		return "it could have been dispatched: there was no fault, no new term, and no run before it"
	case why == "nobody could dispatch at its time, and the job's policy is none":
		if spec.Missed != job.MissedNone {
			return fmt.Sprintf("the policy is %s", spec.Missed)
		}
	case why == fmt.Sprintf("older than the window of %v", spec.MissedWindow) && window > 0:
		if !p.to.Add(window).Before(p.at) {
			return fmt.Sprintf("at %s it was not", stamp(p.at))
		}
	case why == "a later slot runs instead":
		if later = 1; spec.Missed != job.MissedLatest {
			return fmt.Sprintf("the policy is %s", spec.Missed)
		}
	case why == fmt.Sprintf("beyond the limit of %d", max(1, spec.MissedLimit)):
		if later = max(1, spec.MissedLimit); spec.Missed != job.MissedAll {
			return fmt.Sprintf("the policy is %s", spec.Missed)
		}
	default:
		return "no policy has this reason"
	}
	if later > 0 {
		if n := t.slotsUntil(p); n < later {
			return fmt.Sprintf("%s had passed after it by %s, but the reason needs %d", plural(n, "slot"), stamp(p.at), later)
		}
	}
	return ""
}

// refuteOverlap does the same as refute, for a slot whose reason is an earlier run. checkSkipped checks whether that run
// existed.
func (t *timeline) refuteOverlap(p plea, why string) string {
	overlap := p.job.Spec.Overlap
	mismatch := fmt.Sprintf("the policy is %s", overlap)
	var queued int
	switch {
	case strings.HasPrefix(why, "run "):
		if overlap != job.OverlapSkip {
			return mismatch
		}
	case why == "a later slot replaces it":
		if overlap != job.OverlapReplace {
			return mismatch
		}
		if t.slotsUntil(p) == 0 {
			return fmt.Sprintf("none had passed by %s", stamp(p.at))
		}
	case strings.HasSuffix(why, " runs are queued already"):
		if overlap != job.OverlapQueue && overlap != job.OverlapAllow {
			return mismatch
		}
		if _, err := fmt.Sscanf(why, "%d runs", &queued); err != nil || queued != maxQueued {
			return fmt.Sprintf("the reason needs %d", maxQueued)
		}
		if n := t.waiting(p); n < queued {
			return fmt.Sprintf("%s waited", plural(n, "run"))
		}
	default:
		return "no policy has this reason"
	}
	return ""
}

// checkCancel checks that rota itself cancels a run only where the job's definition says so.
func (t *timeline) checkCancel(name string, prev *runVersion, v runVersion) {
	c := v.run.Cancel
	j, known := t.expected[v.run.Job]
	if !known || c == nil || c.By != "rota" || prev != nil && prev.run.Cancel != nil {
		return
	}
	id, replaced := strings.CutPrefix(c.Reason, "overlap: replaced by slot ")
	slot, err := time.Parse(time.RFC3339Nano, id)
	switch overlap := t.as(j, v.Rev).Spec.Overlap; {
	case replaced && overlap != job.OverlapReplace:
		t.report(RuleOverlap, name, fmt.Sprintf("canceled%s for a later slot, but the policy is %s", at(v.Version), overlap))
	case replaced && (err != nil || slot.After(c.At)):
		t.report(RuleOverlap, name, fmt.Sprintf("canceled%s for slot %s, which was not due yet", at(v.Version), id))
	case !replaced && c.Reason == "the job was deleted" && !j.Edited, !replaced && c.Reason == "":
		t.report(RuleOverlap, name, fmt.Sprintf("canceled%s for %q, which has no evidence", at(v.Version), c.Reason))
	}
}

// as returns a job with the definition that was in force for a decision at rev.
func (t *timeline) as(j Job, rev int64) Job {
	if i, ok := t.inForce(j.Name, rev); ok && j.Edited {
		j.Spec = *t.definitions[j.Name][i].job.Spec
	}
	return j
}
