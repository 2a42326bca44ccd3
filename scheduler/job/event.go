package job

import "time"

// Event records something about a job, or about the cluster, that no run's state shows. Stored at events/<job>/<id>. Events of the
// cluster have the name ClusterEvents in place of a job.
type Event struct {
	ID      string    `json:"id"` // sorts by time
	Kind    string    `json:"kind"`
	Job     string    `json:"job"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	From    time.Time `json:"from,omitzero"`   // first slot of a skipped range
	To      time.Time `json:"to,omitzero"`     // last slot of a skipped range
	Count   int       `json:"count,omitempty"` // slots in it; if Partial, at least so many
	Partial bool      `json:"partial,omitempty"`
	Run     string    `json:"run,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	State   State     `json:"state,omitempty"` // the late outcome
	Term    int64     `json:"term,omitempty"`

	// Only events of the cluster have these.
	Node     string `json:"node,omitempty"`     // the replica
	Previous string `json:"previous,omitempty"` // the leader before it
	Cause    string `json:"cause,omitempty"`    // of an outage

	Rev int64 `json:"-"`
}

// The kinds of events.
const (
	EventSkipped = "skipped" // a range of slots that has no run records
	EventLate    = "late"    // a slot whose run had not ended by the finish_by of its job
	EventFenced  = "fenced"  // an outcome that arrived after its attempt was given up
)

// FateForgotten is part of the reason of an EventFenced if the store may have taken the outcome before.
const FateForgotten = "nothing shows any more whether it had been given up"

// EventStamp is the time format that begins the id of an event, so that ids sort by time.
const EventStamp = "20060102T150405.000Z"

// EventID returns the id of an event at an instant. what makes it unique within its job.
func EventID(at time.Time, what string) string { return at.UTC().Format(EventStamp) + "-" + what }
