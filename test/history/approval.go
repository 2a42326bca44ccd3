package history

import (
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// decides reports whether the step from one version of a run to the next is the decision of a person.
func decides(from, to *job.Run) bool {
	made := from.Approval != nil && !from.Approval.At.IsZero()
	return !made && to.Approval != nil && !to.Approval.At.IsZero()
}

// checkApproval follows the approval of a run. A person decides at most once, and in time. No attempt is armed before that.
func (t *timeline) checkApproval(name string, vs []runVersion) {
	for i, v := range vs {
		r, a := &v.run, v.run.Approval
		asks := t.as(t.expected[r.Job], v.Rev).Spec.Approve != nil && r.Spec == nil
		approved := a != nil && a.Approved
		switch {
		case (r.State == job.Armed || r.State == job.Running) && !approved && (a != nil || asks && !t.expected[r.Job].Edited):
			t.report(RuleApproval, name, fmt.Sprintf("is %s%s, and nobody has approved it", r.State, at(v.Version)))
			return
		case a != nil && !a.At.IsZero() && !a.Until.IsZero() && !a.At.Before(a.Until):
			t.report(RuleApproval, name, fmt.Sprintf("decided%s by %q at %s, after its deadline %s", at(v.Version), a.Who, stamp(a.At), stamp(a.Until)))
			return
		}
		if i == 0 || vs[i-1].run.Approval == nil {
			continue
		}
		before := vs[i-1].run.Approval
		changed := a == nil || !before.At.IsZero() && (a.Who != before.Who || !a.At.Equal(before.At) || a.Approved != before.Approved)
		if changed {
			t.report(RuleApproval, name, fmt.Sprintf("the decision of %q has changed%s", before.Who, at(v.Version)))
			return
		}
	}
	t.checkUnapproved(name, vs[len(vs)-1])
}

// unapproved reports whether a run was skipped because no person approved it.
func unapproved(reason string) bool {
	return strings.HasPrefix(reason, "rejected") || strings.HasPrefix(reason, "not approved")
}

// checkUnapproved checks the evidence for the end of a run that no person approved.
func (t *timeline) checkUnapproved(name string, v runVersion) {
	r, a := &v.run, v.run.Approval
	rejected := strings.HasPrefix(r.Reason, "rejected")
	var why string
	switch {
	case r.State != job.Skipped || !unapproved(r.Reason):
		return
	case a == nil:
		why = "no person was asked"
	case rejected && (a.At.IsZero() || a.Approved):
		why = "no person rejected it"
	case !rejected && !a.At.IsZero():
		why = fmt.Sprintf("%q decided", a.Who)
	case !rejected && (a.Until.IsZero() || r.Finished.Before(a.Until)):
		why = "its deadline had not passed"
	default:
		return
	}
	t.report(RuleApproval, name, fmt.Sprintf("skipped%s for %q, but %s", at(v.Version), r.Reason, why))
}
