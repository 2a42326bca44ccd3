package workflow

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Standing is how the run of a parent stands.
type Standing struct {
	Run *job.Run // its record, if it has ended; nil: it has not, or it has no record
	// Missing says that it has no record and gets none.
	Missing bool
	NoJob   bool // Missing, because the parent itself does not exist
}

// Verdict is what becomes of a step.
type Verdict struct {
	Waits       string       // the first parent that has not ended; "": the step is decided
	After       []job.Parent // the parents of the step, with their ends
	Skip        string       // why the step is skipped; "": it runs
	SlotSkipped bool         // the step is skipped because a job without parents skipped the slot
}

// Decide says what becomes of the run r of a step. standing returns how each of r.After stands.
//
// A step is decided when all its parents have ended, even if one end alone already rules it out. So whatever follows the step
// follows all of them.
//
// If a job without parents skips a slot, every step behind it skips the slot too, whatever its condition. Otherwise a job that
// cleans up would start beside the earlier run that caused the skip.
func Decide(r *job.Run, standing func(job.Parent) Standing) Verdict {
	v := Verdict{After: make([]job.Parent, len(r.After))}
	copy(v.After, r.After)
	unmet, missing := "", ""
	for i := range v.After {
		p := &v.After[i]
		s := standing(*p)
		switch {
		case s.NoJob:
			missing = first(missing, "parent "+p.Job+" does not exist")
		case s.Missing && (p.State == "" || p.Outputs): // the outputs were in the record
			missing = first(missing, "parent "+p.Job+" has no run "+p.Job+"/"+p.RunID(r))
		case s.Missing:
			if !p.When.Met(p.State) {
				unmet = first(unmet, Reason(p.Job, p.State))
			}
		case s.Run == nil:
			if v.Waits == "" {
				v.Waits = p.Job
			}
		default:
			p.State, p.Outputs = s.Run.State, len(s.Run.Outputs) > 0
			v.SlotSkipped = v.SlotSkipped || SlotSkipped(s.Run)
			if !p.When.Met(p.State) || SlotSkipped(s.Run) {
				unmet = first(unmet, Reason(p.Job, p.State))
			}
		}
	}
	v.Skip = first(missing, unmet)
	v.SlotSkipped = v.SlotSkipped || missing != ""
	return v
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// SlotSkipped reports whether r, which has ended, was skipped together with its whole slot: by a job without parents, or by a
// step behind one.
func SlotSkipped(r *job.Run) bool {
	return r.State == job.Skipped && (len(r.After) == 0 || r.SlotSkipped)
}

// Reason returns why a step is skipped whose parent ended with a state that does not meet its condition.
func Reason(parent string, s job.State) string {
	switch s {
	case job.Canceled, job.Lost, job.Skipped:
		return "parent " + parent + " was " + string(s)
	}
	return "parent " + parent + " " + strings.ReplaceAll(string(s), "_", " ")
}
