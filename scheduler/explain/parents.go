package explain

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// noParentRan reports whether a step has parents, all of which have decided the slot without a run. The step then has no record
// either, although its cursor may be past the slot.
func noParentRan(f Facts) bool {
	for _, p := range f.Parents {
		if p.Run != nil || !p.Decided {
			return false
		}
	}
	return len(f.Parents) > 0
}

// explainParents explains a slot of a step that has no run yet, by the runs of its parents.
func explainParents(f Facts, slot time.Time) (verdict string, text []string) {
	verdict = verdictWaits
	for _, p := range f.Parents {
		switch {
		case p.Run != nil && p.Run.State.Terminal():
			text = append(text, fmt.Sprintf("Parent %s has ended as %s%s.", p.Job, p.Run.State, because(p.Run.Reason)))
		case p.Run != nil:
			text = append(text, fmt.Sprintf("It waits for parent %s, whose run is %s%s.", p.Job, p.Run.State, because(p.Run.Reason)))
		case p.Decided:
			text = append(text, fmt.Sprintf("Parent %s has no run of this slot: `rota explain %s %s` says why.", p.Job, p.Job, stamp(slot)))
		default:
			text = append(text, fmt.Sprintf("It waits for parent %s, which has not begun this slot.", p.Job))
		}
	}
	switch {
	case slot.After(f.Now):
		return verdictUpcoming, append([]string{"It starts when its parents have ended."}, text...)
	case noParentRan(f):
		return verdictSkipped, text
	case f.Leader == "":
		text = append(text, "No replica leads.")
	}
	return verdict, text
}

// addParents adds which runs a run followed, or waits for.
func addParents(r *job.Run, add func(format string, args ...any)) {
	for i := range r.After {
		a := &r.After[i]
		switch name := a.Job + "/" + a.RunID(r); {
		case a.State != "":
			add("Its parent %s ended as %s.", name, a.State)
		case r.AwaitsParents() && r.Reason != job.ReasonParents: // they have ended, and the reason says what else it waits for
			add("It follows run %s.", name)
		case r.AwaitsParents():
			add("It waits for run %s.", name)
		default:
			add("Its parent %s has no run %s.", a.Job, name)
		}
	}
}
