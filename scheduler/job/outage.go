package job

import "time"

// Outage is a time during which a replica did not answer, or during which no replica led. Replicas publish the outages that they
// observe in their own records.
type Outage struct {
	Node  string    `json:"node,omitempty"`  // the replica that did not answer; "" if no replica led
	From  time.Time `json:"from"`            // when it last answered
	Until time.Time `json:"until,omitzero"`  // when it answered again; zero: not yet
	Cause string    `json:"cause,omitempty"` // OutageDead or OutageStopped; "": it fell silent
}

// The causes of outages that are known.
const (
	OutageDead    = "dead"    // its machine refuses connections to it
	OutageStopped = "stopped" // it left in good order
)

// Overlaps reports whether two outages have a time in common, give or take slack. Two that only touch have none without slack. An
// outage that has not ended lasts for ever.
func (o Outage) Overlaps(p Outage, slack time.Duration) bool {
	return (o.Until.IsZero() || p.From.Before(o.Until.Add(slack))) && (p.Until.IsZero() || o.From.Before(p.Until.Add(slack)))
}

// ClusterEvents is the name under which the events of the cluster are stored, in place of a job. No job can have it.
const ClusterEvents = "_cluster"

// The kinds of events of the cluster.
const (
	EventLeader = "leader" // Node leads since At; nobody led from From on, if that is known
	EventOutage = "outage" // Node did not answer from From to To; a zero To means that it still does not
)
