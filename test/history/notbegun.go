package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// lostAtWork reports whether the run lost an attempt that may have started.
func lostAtWork(r *job.Run) bool {
	return r.LostMore > 0 || slices.ContainsFunc(r.Attempts, func(a job.Attempt) bool {
		return a.State == job.Lost && !strings.Contains(a.Reason, job.NotBegun)
	})
}

// checkNotBegun reports a violation if an attempt had an effect although its record says that it had not started. rota may
// repeat such an attempt, even with at_most_once.
func (t *timeline) checkNotBegun(run string, vs []runVersion, e Effect) {
	for _, a := range last(vs).Attempts {
		if a.Token == e.Token && a.State == job.Lost && strings.Contains(a.Reason, job.NotBegun) {
			t.report(RuleOutcome, run, fmt.Sprintf("its target saw attempt %d at %s, but it is recorded as lost %s: %s",
				e.Attempt, stamp(e.Arrived), job.NotBegun, describe(vs)))
		}
	}
}
