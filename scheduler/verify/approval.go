package verify

import "github.com/rota-scheduler/rota/scheduler/job"

// checkApproval checks that a run for which a person was asked began only after that person had approved it in time.
func (c *checker) checkApproval(r *job.Run) {
	a := r.Approval
	if a == nil {
		return
	}
	begun := r.Attempt > 0 || len(r.Attempts) > 0
	switch {
	case begun && !a.Approved:
		c.broken(5, r.Name(), r.Rev, "it has begun, but nobody has approved it")
	case !a.At.IsZero() && !a.Until.IsZero() && !a.At.Before(a.Until):
		c.broken(5, r.Name(), r.Rev, "%s decided about it at %s, after the deadline %s", a.Who, job.SlotID(a.At), job.SlotID(a.Until))
	case !a.At.IsZero() && !a.Approved && r.State != job.Skipped:
		c.broken(5, r.Name(), r.Rev, "%s has rejected it, but it is %s", a.Who, r.State)
	}
}

// checkDecided checks one change of a run: a decision of a person is final, and nothing begins without it.
func (l *replay) checkDecided(before, after *job.Run) {
	if before == nil || !before.Asked() {
		return
	}
	a, b := before.Approval, after.Approval
	switch {
	case b == nil:
		l.broken(5, after.Name(), after.Rev, "its approval is gone")
	case !a.At.IsZero() && (!a.At.Equal(b.At) || a.Who != b.Who || a.Approved != b.Approved):
		l.broken(5, after.Name(), after.Rev, "the decision of %s about it has changed", a.Who)
	case after.State == job.Armed && !b.Approved:
		l.broken(5, after.Name(), after.Rev, "it is armed, but nobody has approved it")
	}
}
