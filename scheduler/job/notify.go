package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Occasion is a reason to send a message about a job.
type Occasion string

// The occasions.
const (
	OnFailure  Occasion = "failure"  // a run failed or timed out, after all its retries
	OnRecovery Occasion = "recovery" // the first success after a run that failed, timed out or was lost
	OnMissed   Occasion = "missed"   // slots passed while no replica could dispatch them
	OnLost     Occasion = "lost"     // a run was lost, or an attempt was given up, even if it is retried
	OnLate     Occasion = "late"     // a run had not succeeded by the finish_by of its job
	OnStuck    Occasion = "stuck"    // an attempt goes on after its timeout
)

// Occasions lists every Occasion.
func Occasions() []Occasion { return append(storedOccasions(), OnLate, OnStuck) }

// storedOccasions are the occasions that version 0.1.0 knows. Together they stand for all occasions, so that both versions store
// the same definition of a notifier without When.
func storedOccasions() []Occasion { return []Occasion{OnFailure, OnRecovery, OnMissed, OnLost} }

// Notify holds the notifiers of a job, by name.
type Notify map[string]Notifier

// Notifier says where messages go, on which occasions, and how often.
type Notifier struct {
	URL    string     `json:"url"`              // ${env:} and ${file:} are resolved on the leader, never stored
	When   []Occasion `json:"when,omitempty"`   // in the order of Occasions; all of them by default
	After  int        `json:"after,omitempty"`  // failures in a row until the first message; 0: DefaultAfter
	Repeat Duration   `json:"repeat,omitempty"` // between two messages about one cause; 0: DefaultRepeat
	// Template makes the body of a request to a webhook; "": the message is the body.
	Template string `json:"template,omitempty"`
}

// The defaults of a notifier. A definition in the store does not contain them.
const (
	DefaultAfter  = 1
	DefaultRepeat = Duration(4 * time.Hour)
)

// MaxTemplate is the largest length of a template, in bytes.
const MaxTemplate = 4 << 10

// The ranges of a notifier's fields.
var (
	AfterRange  = Range[int]{1, 1000}
	RepeatRange = Range[Duration]{1, MaxDuration}
)

// check returns an error if a field is out of its range.
func (n Notifier) check() error {
	if len(n.Template) > MaxTemplate {
		return fmt.Errorf("template has %d bytes, at most %d are allowed", len(n.Template), MaxTemplate)
	}
	return cmp.Or(AfterRange.check("after", n.After), RepeatRange.check("repeat", n.Repeat))
}

// FirstAt returns after how many failures in a row the notifier gets the first message.
func (n Notifier) FirstAt() int { return cmp.Or(n.After, DefaultAfter) }

// RepeatEvery returns how long the notifier gets no further message about a cause.
func (n Notifier) RepeatEvery() time.Duration { return cmp.Or(n.Repeat, DefaultRepeat).Std() }

// Wants returns the first of some occasions that n wants messages about; false if there is none.
func (n Notifier) Wants(list []Occasion) (Occasion, bool) {
	all := len(n.When) == 0 || slices.Equal(n.When, storedOccasions())
	for _, o := range list {
		if all || slices.Contains(n.When, o) {
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
			to.When = storedOccasions()
			out[name] = to
		}
	}
	return out
}

// sameMessages reports whether both have the same notifiers with the same occasions. URLs may differ.
func (n Notify) sameMessages(other Notify) bool {
	return maps.EqualFunc(n, other, func(a, b Notifier) bool { return slices.Equal(a.When, b.When) })
}

// NotifyState records which messages about a job were sent. Stored at told/<job>. The leader writes it only after it
// sent a message.
type NotifyState struct {
	Job string `json:"job"`
	// UpTo is the revision up to which all messages have been sent.
	UpTo int64 `json:"up_to"`
	// Ahead holds the revision up to which a notifier has got all messages, if that is later than UpTo. Another one has not answered.
	Ahead map[string]int64 `json:"ahead,omitempty"`
	// Failing is the last run that failed, timed out or was lost, if none has succeeded since; otherwise "". Failures is how many
	// runs in a row ended so; 0 in records of earlier versions.
	Failing  string `json:"failing,omitempty"`
	Failures int    `json:"failures,omitempty"`
	// Said holds when each notifier got the last message about a cause that lasts, by "<notifier>/<cause>".
	Said map[string]time.Time `json:"said,omitempty"`
	// Attempts holds, for runs that have not ended, the last attempt that was given up and reported.
	Attempts map[string]int `json:"attempts,omitempty"`
	At       time.Time      `json:"at"`
	Term     int64          `json:"term,omitempty"` // of the leader that wrote it
	Op       string         `json:"op,omitempty"`

	Rev int64 `json:"-"`
}
