package job

import "strings"

// Phase is the part of its life that a run is in. Status, API and metrics count runs by phase.
type Phase string

// The phases of a run that has not ended.
const (
	PhaseScheduled Phase = "scheduled" // waits for its time
	PhaseWaiting   Phase = "waiting"   // due, and waits for something else: see WaitsFor
	PhaseArmed     Phase = "armed"     // assigned to a worker
	PhaseRunning   Phase = "running"   // a worker executes it
	PhaseRetrying  Phase = "retrying"  // an attempt has ended, and another one follows
)

// Phases lists every Phase.
func Phases() []Phase {
	return []Phase{PhaseScheduled, PhaseWaiting, PhaseArmed, PhaseRunning, PhaseRetrying}
}

// Phase returns the phase of the run; "" if it has ended. It depends on the record alone.
func (r *Run) Phase() Phase {
	switch {
	case r.State == Armed:
		return PhaseArmed
	case r.State == Running:
		return PhaseRunning
	case r.State != Pending:
		return ""
	case r.Attempt > 0:
		return PhaseRetrying
	case r.Reason == ReasonNotYet || r.Ahead:
		return PhaseScheduled
	}
	return PhaseWaiting
}

// waits maps the first words of a reason to what the run waits for. The first match counts.
var waits = []struct{ start, wait string }{
	{"waits for a worker", "leader"},
	{"no worker has room", "room"},
	{"no worker accepts it", "worker"},
	{"overlap: ", "overlap"},
	{"paused", "pause"},
	{"limit ", "limit"},
	{"rate ", "rate"},
	{"breaker ", "breaker"},
	{"waits for its parents", "parent"},
	{approvalPending, "approval"},
	{"waits for its copies", "copies"},
}

// Waits lists what WaitsFor may return.
func Waits() []string {
	list := make([]string, 0, len(waits)+1)
	for _, w := range waits {
		list = append(list, w.wait)
	}
	return append(list, "other")
}

// WaitsFor returns in one word what a run in PhaseWaiting waits for: one of Waits.
func (r *Run) WaitsFor() string {
	for _, w := range waits {
		if strings.HasPrefix(r.Reason, w.start) {
			return w.wait
		}
	}
	return "other"
}

// AwaitsStart reports whether the run was submitted, and no attempt of it has started yet. These are the runs that max_pending
// bounds. A run whose attempt has failed or was lost does not count again. A step that was created together with the start of its
// workflow never counts: the run that starts the workflow counts for all of them.
func (r *Run) AwaitsStart() bool {
	if r.AwaitsParents() && !r.RepeatedAlone() || r.Copies != nil || len(r.After) > 0 && r.RetryOf == "" {
		return false
	}
	switch r.Kind {
	case KindManual, KindDelayed, KindRetry:
		return r.State == Pending && r.Attempt == 0 || r.State == Armed && r.Attempt <= 1
	}
	return false
}
