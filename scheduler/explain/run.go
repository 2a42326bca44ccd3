package explain

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// explainRun explains a slot by its run.
func explainRun(f Facts, r *job.Run) Answer {
	a := Answer{Slot: r.Slot, Verdict: string(r.State)}
	add := func(format string, args ...any) { a.Text = append(a.Text, fmt.Sprintf(format, args...)) }
	if r.Kind == job.KindBackfill {
		by := ""
		if r.By != "" {
			by = " by " + r.By
		}
		add("It is backfilled: its run was ordered%s with `rota backfill`, and created at %s.", by, stamp(r.Created))
	}
	switch {
	case r.State == job.Skipped:
		add("It did not run: %s.", r.Reason)
	case r.State.Terminal():
		if r.State == job.Succeeded {
			a.Verdict = verdictRan
		}
		add("It %s at %s%s.", past(r.State), stamp(r.Ended()), because(r.Reason))
	case r.State == job.Running:
		add("It has been running on worker %s since %s%s.", r.Worker, stamp(r.Began()), because(r.Reason))
		if r.Cancel != nil {
			add("It is being stopped%s.", because(r.Cancel.Reason))
		}
	case r.State == job.Armed:
		add("It is assigned to worker %s, which has not started it yet.", r.Worker)
		if left := r.Due.Sub(f.Now); left > 0 {
			add("It is armed ahead: the worker starts it in %s.", left.Round(time.Millisecond))
		}
	default:
		add("It is %s%s.", r.State, because(r.Reason))
		if f.Now.Before(r.KnownDue()) {
			a.Text = append(a.Text, dueIn(r.Due, f.Now))
		}
	}
	addParents(r, add)
	if len(r.Params) > 0 {
		add("Its parameters: %s.", r.ParamsText())
	}
	addApproval(f, r, add)
	addCopies(f, r, add)
	if r.Late {
		a.Late, a.Behind = lateBecause(f, r)
		addLate(f, r, a.Late, add)
		if r.State == job.Succeeded {
			a.Verdict = verdictRanLate
		}
	} else if late := lateBy(r); late > time.Second {
		add("Its last attempt started %s after it was due.", late.Round(time.Millisecond))
	}
	for _, t := range r.Attempts {
		add("Attempt %d on worker %s with token %d: %s%s.", t.Number, t.Worker, t.Token, t.State, because(t.Reason))
	}
	return a
}

// addLate says that a run is late, by how much, and why.
func addLate(f Facts, r *job.Run, why string, add func(format string, args ...any)) {
	is, by, policy := "is", "", "unknown"
	if r.State.Terminal() {
		is = "was"
	}
	if late := lateBy(r); late >= time.Second && r.Attempt == 1 {
		by = " by " + late.Round(time.Second).String()
	}
	if f.Job != nil {
		policy = string(f.Job.Spec.Missed)
	}
	add("It %s late%s: %s. The job's missed policy is %s.", is, by, why, policy)
}

// lateBecause returns why a run is late, and the run that was in the way, if one was. The record of the run does not say it. The
// earlier runs show it.
func lateBecause(f Facts, r *job.Run) (why, behind string) {
	const nobody = "no leader could dispatch it in time"
	if f.Job != nil && f.Job.Spec.Overlap == job.OverlapAllow {
		return nobody, ""
	}
	due := r.Slot // Due is that of the latest attempt
	if f.When != nil {
		due = due.Add(f.When.Offset())
	}
	began := beganBy(r)
	for _, b := range f.Before {
		switch {
		case b.State == job.Skipped || b.Kind == job.KindBackfill:
		case !began.IsZero() && (b.Finished.IsZero() || b.Ended().After(began.Add(clockSlack))): // such as a retry
		case b.Finished.IsZero():
			return fmt.Sprintf("it waited behind run %s, which has not ended", b.Name()), b.Name()
		case b.Ended().After(due):
			return fmt.Sprintf("it waited behind run %s, which ended at %s", b.Name(), stamp(b.Ended())), b.Name()
		}
	}
	if len(f.Before) > 0 {
		return nobody, ""
	}
	return nobody + ", or it waited behind a late run", ""
}

// clockSlack is how far the times of two runs may be wrong, compared with each other.
const clockSlack = 2 * time.Second

// beganBy returns when r began at the latest, by the leaders' clocks; zero if it has not begun.
func beganBy(r *job.Run) time.Time {
	if len(r.Attempts) == 0 && r.State.Terminal() {
		return r.Ended()
	}
	return r.FirstBegan()
}

// lateBy returns how late the last attempt started after its due time, by the leaders' clocks. It returns zero if that attempt
// is not running and did not end the run.
func lateBy(r *job.Run) time.Duration {
	n := len(r.Attempts)
	switch {
	case r.State == job.Running:
		return r.Began().Sub(r.Due)
	case n > 0 && r.Attempts[n-1].Finished.Equal(r.Finished):
		began, _ := r.Span(n - 1)
		return began.Sub(r.Due)
	}
	return 0
}

// past returns a verb in the past tense for a state in which a run has ended.
func past(s job.State) string {
	switch s {
	case job.TimedOut:
		return "timed out"
	case job.Canceled, job.Lost:
		return "was " + string(s)
	}
	return string(s)
}
