package job

import (
	"maps"
	"slices"
	"time"
)

// Occasion is something that happens to a job and that somebody may be told of.
type Occasion string

// The occasions.
const (
	OnFailure  Occasion = "failure"  // a run failed or timed out, after all its retries
	OnRecovery Occasion = "recovery" // the first success after a run that failed, timed out or was lost
	OnMissed   Occasion = "missed"   // slots were passed over, since nobody could dispatch at their time
	OnLost     Occasion = "lost"     // a run was lost, or an attempt was given up, whether or not it is tried again
)

// Occasions lists every Occasion.
func Occasions() []Occasion { return []Occasion{OnFailure, OnRecovery, OnMissed, OnLost} }

// Notify is who is told about a job, by name.
type Notify map[string]Notifier

// Notifier is where messages are sent, and on which occasions.
type Notifier struct {
	URL  string     `json:"url"`            // ${env:} and ${file:} are resolved on the leader, never stored
	When []Occasion `json:"when,omitempty"` // in the order of Occasions; all of them by default
}

// Wants says whether n is to be told on one of some occasions, and the first of them.
func (n Notifier) Wants(list []Occasion) (Occasion, bool) {
	for _, o := range list {
		if slices.Contains(n.When, o) {
			return o, true
		}
	}
	return "", false
}

func (n Notify) withDefaults() Notify {
	if len(n) == 0 {
		return nil
	}
	out := maps.Clone(n)
	for name, to := range out {
		if len(to.When) == 0 {
			to.When = Occasions()
			out[name] = to
		}
	}
	return out
}

// tellAlike says whether the same are told of the same, wherever that is sent.
func (n Notify) tellAlike(other Notify) bool {
	return maps.EqualFunc(n, other, func(a, b Notifier) bool { return slices.Equal(a.When, b.When) })
}

// NotifyState is what has been told about a job. Stored at told/<job>, and written only after something was told.
type NotifyState struct {
	Job string `json:"job"`
	// UpTo is the revision up to which everything that is to be told has been.
	UpTo int64 `json:"up_to"`
	// Failing is the run that failed, timed out or was lost last, if none has succeeded since; "" otherwise.
	Failing string `json:"failing,omitempty"`
	// Attempts are, of runs that have not ended, the last attempts that were given up and told of.
	Attempts map[string]int `json:"attempts,omitempty"`
	At       time.Time      `json:"at"`
	Term     int64          `json:"term,omitempty"` // of the leader that wrote it
	Op       string         `json:"op,omitempty"`

	Rev int64 `json:"-"`
}
