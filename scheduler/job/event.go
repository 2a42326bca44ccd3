package job

import "time"

// Event is a thing worth telling that is not the state of a run. Stored at events/<job>/<id>.
type Event struct {
	ID      string    `json:"id"` // sorts by time
	Kind    string    `json:"kind"`
	Job     string    `json:"job"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	From    time.Time `json:"from,omitzero"`   // first slot of a skipped range
	To      time.Time `json:"to,omitzero"`     // last slot of a skipped range
	Count   int       `json:"count,omitempty"` // slots in it; at least so many if Partial
	Partial bool      `json:"partial,omitempty"`
	Run     string    `json:"run,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	State   State     `json:"state,omitempty"` // the outcome that came too late
	Term    int64     `json:"term,omitempty"`

	Rev int64 `json:"-"`
}

// The kinds of events.
const (
	EventSkipped = "skipped" // a range of slots that has no run records
	EventFenced  = "fenced"  // an outcome that came after its attempt had been given up
)

// EventStamp is how the id of an event begins: ids sort by time.
const EventStamp = "20060102T150405.000Z"

// EventID is the id of an event at an instant, made unique within its job by what.
func EventID(at time.Time, what string) string { return at.UTC().Format(EventStamp) + "-" + what }
