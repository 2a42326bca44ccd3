package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxEvents is how many events of the cluster a leader keeps.
const MaxEvents = 1000

const (
	maxReportAge = time.Hour        // older reports change nothing
	settleTime   = 15 * time.Second // how long a new leader learns from the others when the last one led
)

// Term is the term in which events are written.
type Term struct {
	Node  string
	Rev   int64
	Since time.Time
	Led   time.Time // when this replica last saw that a replica led, before the term; zero: never
}

// Ledger returns the events that a leader must write so that the stored ones agree with the reports. stored has the events of the
// cluster, oldest first. present has the replicas that answer the leader.
func Ledger(term Term, stored []*job.Event, reports map[string]Report, present map[string]bool, now time.Time) []job.Event {
	var changed []job.Event
	for _, o := range Absences(reports) {
		if now.Sub(o.From) > maxReportAge && now.Sub(cmp.Or(o.Until, now)) > maxReportAge {
			continue
		}
		if e, ok := recordOutage(stored, o); ok {
			changed = append(changed, e)
		}
	}
	for _, e := range stored {
		if e.Kind == job.EventOutage && e.To.IsZero() && present[e.Node] && !claimed(reports, e.Node) && !changes(changed, e.ID) {
			back := *e
			back.To = now.UTC()
			changed = append(changed, back)
		}
	}
	if e, ok := recordTerm(term, stored, reports, now); ok {
		changed = append(changed, e)
	}
	return changed
}

// recordOutage returns the event of an outage, and whether it differs from the stored ones.
func recordOutage(stored []*job.Event, o job.Outage) (job.Event, bool) {
	for _, e := range slices.Backward(stored) {
		if !records(e, o) {
			continue
		}
		next := *e
		if e.To.IsZero() {
			next.From = job.Later(e.From, o.From)
			next.To = o.Until
		}
		if e.Cause == "" || o.Cause == job.OutageStopped {
			next.Cause = o.Cause
		}
		return next, !next.From.Equal(e.From) || !next.To.Equal(e.To) || next.Cause != e.Cause
	}
	return job.Event{
		ID: job.EventID(o.From, "outage-"+o.Node), Kind: job.EventOutage, Job: job.ClusterEvents, At: o.From,
		Reason: "a replica did not answer", From: o.From, To: o.Until, Node: o.Node, Cause: o.Cause,
	}, true
}

// records reports whether an event is that of an outage. Two outages of a replica follow each other if the second one begins after
// the first one has ended.
func records(e *job.Event, o job.Outage) bool {
	p := outageOf(e)
	return e.Kind == job.EventOutage && e.Node == o.Node && p.Overlaps(o, slack) &&
		(p.Until.IsZero() || o.From.Before(p.Until)) && (o.Until.IsZero() || p.From.Before(o.Until))
}

// ended reports whether an outage of a leader ended its term. It won at an instant, and another leader won next. A leader that was
// only silent and answered again may have led all the time, as after the end of its certificate.
func ended(outage *job.Event, won, next time.Time) bool {
	during := !outage.From.Before(won) && !outage.From.After(next)
	return during && (outage.Cause != "" || outage.To.IsZero() || next.Sub(outage.To) <= slack)
}

func outageOf(e *job.Event) job.Outage {
	return job.Outage{Node: e.Node, From: e.From, Until: e.To, Cause: e.Cause}
}

// claimed reports whether a replica reports that node does not answer now.
func claimed(reports map[string]Report, node string) bool {
	for _, r := range reports {
		if slices.ContainsFunc(r.Outages, func(o job.Outage) bool { return o.Node == node && o.Until.IsZero() }) {
			return true
		}
	}
	return false
}

func changes(list []job.Event, id string) bool {
	return slices.ContainsFunc(list, func(e job.Event) bool { return e.ID == id })
}

// recordTerm returns the event of the present term, and whether it differs from the stored one. The event says when a replica last
// led before, as far as anybody saw it.
func recordTerm(term Term, stored []*job.Event, reports map[string]Report, now time.Time) (job.Event, bool) {
	var own, last *job.Event
	for _, e := range stored {
		switch {
		case e.Kind != job.EventLeader:
		case e.Term == term.Rev:
			own = e
		case e.Term < term.Rev:
			last = e
		}
	}
	if own != nil && now.Sub(term.Since) > settleTime {
		return job.Event{}, false
	}
	e := job.Event{
		ID: job.EventID(term.Since, "leader"), Kind: job.EventLeader, Job: job.ClusterEvents, At: term.Since,
		Reason: "a replica leads", Node: term.Node, Term: term.Rev, From: term.Led,
	}
	if last != nil {
		e.Previous = last.Node
		for _, s := range stored { // the moment of the last leader's death is exact
			if s.Kind == job.EventOutage && s.Node == last.Node && ended(s, last.At, term.Since) {
				e.From = job.Later(e.From, s.From)
			}
		}
	}
	for _, r := range reports {
		for _, o := range r.Outages {
			if o.Node == "" && o.Overlaps(job.Outage{From: term.Since, Until: term.Since}, slack) && !o.From.After(term.Since) {
				e.From = job.Later(e.From, o.From)
			}
		}
	}
	if e.From.After(term.Since) {
		e.From = term.Since
	}
	if own == nil {
		return e, true
	}
	e.ID, e.Rev, e.At, e.Previous = own.ID, own.Rev, own.At, own.Previous
	return e, !e.From.Equal(own.From)
}
