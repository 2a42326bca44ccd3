package attention

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// history is what the runs of one job show.
type history struct {
	last     *job.Run   // the run that ended last, by itself; nil: none did
	success  time.Time  // when a run last succeeded; zero: none did
	failures int        // runs that ended without success since then
	first    time.Time  // the end of the first of them
	losts    []*job.Run // the lost ones of them
	repeated map[string]bool
	late     *job.Run // the run that has waited longest; nil: none is late
	lates    int
	breaker  *job.Run // a run that waits for the breaker
	asked    *job.Run // the run that has waited longest for a person; nil: none does
	askeds   int
	noWorker *job.Run // a run that no worker accepts
}

// histories reads all runs, in two passes: failures count only if they are later than the last success. A job without runs has no
// history.
func histories(f Facts) map[string]*history {
	all := make(map[string]*history)
	for _, r := range f.Runs {
		h := all[r.Job]
		if h == nil {
			h = &history{repeated: make(map[string]bool)}
			all[r.Job] = h
		}
		h.read(r, f.Now)
	}
	for _, r := range f.Runs {
		h := all[r.Job]
		if !r.State.IsFailure() || !r.Ended().After(h.success) {
			continue
		}
		if r.State == job.Lost {
			h.losts = append(h.losts, r)
		}
		if r.Kind == job.KindCopy { // its run counts for all copies
			continue
		}
		h.failures++
		if h.first.IsZero() || r.Ended().Before(h.first) {
			h.first = r.Ended()
		}
	}
	return all
}

// Reads reports whether OfJobs reads a run at now. The others wait for their time, and there may be a million of them.
func Reads(r *job.Run, now time.Time) bool {
	return r.State != job.Pending || r.Reason != job.ReasonNotYet || r.RetryOf != "" || r.AwaitsApproval() || isLate(r, now)
}

// isLate reports whether a run that has not begun is late.
func isLate(r *job.Run, now time.Time) bool {
	return (r.State == job.Pending || r.State == job.Armed) && now.Sub(r.Due) > lateAfter
}

func (h *history) read(r *job.Run, now time.Time) {
	if r.RetryOf != "" {
		h.repeated[r.RetryOf] = true
	}
	switch {
	case r.Kind == job.KindCopy && r.State.Terminal(): // its run says how all copies ended
	case r.State == job.Succeeded:
		h.success = job.Later(h.success, r.Ended())
		fallthrough
	case r.State.IsFailure():
		if h.last == nil || r.Ended().After(h.last.Ended()) {
			h.last = r
		}
	case r.AwaitsApproval():
		if h.askeds++; h.asked == nil || r.Approval.Asked.Before(h.asked.Approval.Asked) {
			h.asked = r
		}
	case r.State == job.Pending && strings.HasPrefix(r.Reason, "breaker"):
		h.breaker = older(h.breaker, r)
	case r.State == job.Pending && strings.HasPrefix(r.Reason, "no worker accepts it"):
		h.noWorker = older(h.noWorker, r)
	case isLate(r, now):
		h.lates++
		h.late = older(h.late, r)
	}
}

// older returns the run that has been due for longer. a may be nil. Of runs that wait for the same, the reason of that run alone is
// brought up to date.
func older(a, b *job.Run) *job.Run {
	if a == nil || b.Due.Before(a.Due) {
		return b
	}
	return a
}

// failing returns an item if the last run of the job failed.
func (h *history) failing(name string) []Item {
	if h.last == nil || !h.last.State.IsFailure() || h.last.State == job.Lost {
		return nil
	}
	text, reason := fmt.Sprintf("Job %s fails: its last run %s", name, strings.ReplaceAll(string(h.last.State), "_", " ")), ": "
	if h.failures > 1 {
		text = fmt.Sprintf("Job %s fails: %s in a row without success", name, counted(h.failures, "run"))
		reason = ", the last one with: "
	}
	if h.last.Reason != "" {
		text += reason + strings.TrimRight(h.last.Reason, ".")
	}
	next := "rota logs " + h.last.Name()
	if h.last.Copies != nil { // its copies have the output
		next = "rota run-info " + h.last.Name()
	}
	return []Item{{Kind: Failing, Job: name, Run: h.last.Name(), Since: h.first, Text: text + ".", Next: next}}
}

// lost returns an item for each lost run that was not repeated.
func (h *history) lost(now time.Time) (items []Item) {
	for _, r := range h.losts {
		if h.repeated[r.Name()] || now.Sub(r.Ended()) > lostFor {
			continue
		}
		items = append(items, Item{
			Kind: Lost, Job: r.Job, Run: r.Name(), Since: r.Ended(), Next: "rota retry " + r.Name(),
			Text: "Run " + r.Name() + " is lost: check at its target whether it took place, then repeat it if it did not.",
		})
	}
	return items
}

// waiting returns items for runs that wait too long.
func (h *history) waiting(j *job.Job, f Facts) (items []Item) {
	if r := h.breaker; r != nil {
		items = append(items, Item{
			Kind: Breaker, Job: j.Name, Run: r.Name(), Since: r.Due, Next: "rota runs " + j.Name + " --state failed",
			Text: "Job " + j.Name + " waits: " + r.Reason + ".",
		})
	}
	if r := h.asked; r != nil {
		text := "Run " + r.Name() + " " + r.Reason
		if h.askeds > 1 {
			text = fmt.Sprintf("%s of job %s wait for an approval, the oldest is %s", counted(h.askeds, "run"), j.Name, r.Name())
		}
		items = append(items, Item{
			Kind: Approval, Job: j.Name, Run: r.Name(), Since: r.Approval.Asked, Text: text + ".", Next: "rota approve " + r.Name(),
		})
	}
	if r := h.noWorker; r != nil {
		items = append(items, Item{
			Kind: NoWorker, Job: j.Name, Run: r.Name(), Since: r.Due, Next: "rota workers -o wide",
			Text: "Run " + r.Name() + " cannot start: " + r.Reason + needs(j.Spec, "; the job needs ") + ".",
		})
	}
	if r := h.late; r != nil && j.Paused == nil && f.Gate.Paused == nil {
		text := "Run " + r.Name() + " is late"
		if h.lates > 1 {
			text = fmt.Sprintf("%s of job %s are late, the oldest is %s", counted(h.lates, "run"), j.Name, r.Name())
		}
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		items = append(items, Item{
			Kind: Late, Job: j.Name, Run: r.Name(), Since: r.Due, Text: text + ".", Next: "rota run-info " + r.Name(),
		})
	}
	return items
}
