package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// slack is how far apart the reports of two observers about one outage may begin and end.
const slack = 3 * time.Second

// Report is what one replica observed.
type Report struct {
	Started time.Time // of its process, which knows nothing of the time before
	Outages []job.Outage
}

// claim says that observer got no answer from a replica.
type claim struct {
	observer string
	job.Outage
}

// Absences returns the outages of replicas that the reports prove, by the name of the replica and then by time. reports has the
// outages that each replica observed. A cut between two replicas is not an absence of either if a third one reaches both. If a
// replica is cut off from the majority, it reports that the majority is absent; such a report is refused.
func Absences(reports map[string]Report) []job.Outage {
	var claims []claim
	for _, observer := range slices.Sorted(maps.Keys(reports)) {
		for _, o := range reports[observer].Outages {
			if o.Node != "" && o.Node != observer {
				claims = append(claims, claim{observer, o})
			}
		}
	}
	var proven []job.Outage
	for _, c := range claims {
		if believed(c, claims, reports) {
			proven = merge(proven, c.Outage)
		}
	}
	slices.SortFunc(proven, func(a, b job.Outage) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Node, b.Node))
	})
	return proven
}

// believed reports whether the other reports of the same time support a claim.
func believed(c claim, claims []claim, reports map[string]Report) bool {
	against := func(node string) map[string]bool { // who claims at the same time that node is absent
		by := make(map[string]bool)
		for _, d := range claims {
			if d.Node == node && d.Overlaps(c.Outage, 0) {
				by[d.observer] = true
			}
		}
		return by
	}
	absent, accused := against(c.Node), against(c.observer)
	for witness, report := range reports {
		if report.Started.Before(c.From) && witness != c.Node && !absent[witness] && len(against(witness)) == 0 {
			return false // this replica was well, and reached the one that is said to be absent
		}
	}
	return !accused[c.Node] || len(absent) >= len(accused)
}

// merge adds an outage to a list. If the list has an outage of the same replica at the same time, both become one. It began when
// the last observer heard the replica, and ended when the first one heard it again.
func merge(list []job.Outage, o job.Outage) []job.Outage {
	for i := range list {
		if p := &list[i]; p.Node == o.Node && p.Overlaps(o, 0) {
			*p = join(*p, o)
			return list
		}
	}
	return append(list, o)
}

// join returns the outage that two reports about the same replica describe together.
func join(a, b job.Outage) job.Outage {
	a.From = job.Later(a.From, b.From)
	if a.Until.IsZero() || !b.Until.IsZero() && b.Until.Before(a.Until) {
		a.Until = b.Until
	}
	if a.Cause == "" || b.Cause == job.OutageStopped {
		a.Cause = b.Cause
	}
	return a
}
