package explain

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// addApproval says who decided about a run that needs an approval, or who may.
func addApproval(f Facts, r *job.Run, add func(string, ...any)) {
	a := r.Approval
	switch {
	case a == nil:
	case r.AwaitsApproval():
		who := "an operator of the job"
		if len(a.By) > 0 {
			who = strings.Join(a.By, " or ")
		}
		add("It waits since %s for a person: %s runs `rota approve %s` or `rota reject %s`.", stamp(a.Asked), who, r.Name(), r.Name())
		if left := a.Until.Sub(f.Now); !a.Until.IsZero() && left > 0 {
			add("If nobody approves it, it is skipped in %s.", left.Round(time.Second))
		}
	case a.At.IsZero():
		add("Nobody approved or rejected it while it waited.")
	case a.Approved && a.Asked.IsZero():
		add("%s approved it at %s, before it was due%s.", person(a.Who), stamp(a.At), because(a.Reason))
	case a.Approved:
		add("%s approved it at %s, after %s%s.", person(a.Who), stamp(a.At), a.At.Sub(a.Asked).Round(time.Second), because(a.Reason))
	default:
		add("%s rejected it at %s%s.", person(a.Who), stamp(a.At), because(a.Reason))
	}
}

// person returns the name of a person. It is empty while authentication is off and the client names no user.
func person(name string) string {
	if name == "" {
		return "Somebody"
	}
	return name
}
