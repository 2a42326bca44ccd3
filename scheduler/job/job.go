package job

import (
	"slices"
	"time"
)

// Job is a named definition: when to run, what to run, under which policies. Stored at jobs/<name>.
type Job struct {
	Name       string    `json:"name"`
	Origin     Origin    `json:"origin"`
	Generation int64     `json:"generation"` // from 1; rises with every change of Spec
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	UpdatedBy  string    `json:"updated_by,omitempty"` // the client of the last change of Spec; empty: a file, or an earlier version

	// Since is the instant after which the present schedule counts. Slots at or before it do not run, except those that were undecided
	// when the job was paused. SinceReason is one of created, rescheduled and resumed. SinceGeneration is the generation that brought
	// the schedule, at the time Scheduled. Since is later than Scheduled if the job was paused meanwhile.
	Since           time.Time `json:"since"`
	SinceReason     string    `json:"since_reason"`
	SinceGeneration int64     `json:"since_generation,omitempty"`
	Scheduled       time.Time `json:"scheduled,omitzero"`
	// Jittered is the jitter that the schedule had when it replaced another one. It decides which slots count, also
	// after a later change of the jitter. It is nil for the first schedule, and in records of earlier versions.
	Jittered *Duration `json:"jittered,omitempty"`
	// Pauses are the past pauses that concern slots of the present schedule, oldest first; see PauseHistory.
	Pauses []PastPause `json:"pauses,omitempty"`
	// Notified is when Spec.Notify last changed its notifiers or their occasions, or when Spec.Ping came or went. No message is
	// sent about anything before. Zero if there never was a notifier or a ping.
	Notified time.Time `json:"notified,omitzero"`

	Paused *Pause `json:"paused,omitempty"`
	Spec   *Spec  `json:"spec"`         // not nil; jobs with equal specs share it, so it must not be changed
	Op     string `json:"op,omitempty"` // id of the write that made this version

	Rev    int64 `json:"-"`
	Stored int   `json:"-"` // bytes of the record; 0 if it was not read from the store
}

// The values of Job.SinceReason.
const (
	SinceCreated     = "created"
	SinceRescheduled = "rescheduled"
	SinceResumed     = "resumed"
)

// Gate is the pause of all jobs in the cluster. Stored at gate.
type Gate struct {
	Paused *Pause      `json:"paused,omitempty"`
	Since  time.Time   `json:"since,omitzero"`   // when dispatching was last resumed
	Pauses []PastPause `json:"pauses,omitempty"` // past pauses, oldest first; see PauseHistory
	Op     string      `json:"op,omitempty"`

	Rev int64 `json:"-"`
}

// Cursor is how far a job's slots are decided. Stored at cursors/<job>. It only moves forward, in the transaction that
// creates the slot's run or the reason why there is none.
type Cursor struct {
	Job        string      `json:"job"`
	After      time.Time   `json:"after"`            // every slot at or before it is decided
	Beyond     []time.Time `json:"beyond,omitempty"` // later slots that are decided too, in order; at most MaxBeyond
	Next       time.Time   `json:"next,omitzero"`    // the next slot to dispatch; zero: the schedule is over
	Generation int64       `json:"generation"`       // of the job from which Next was computed
	Term       int64       `json:"term"`             // of the leader that wrote it
	Op         string      `json:"op,omitempty"`

	Rev int64 `json:"-"`
}

// MaxBeyond is how many slots a Cursor holds beyond After.
const MaxBeyond = 100

// Passed reports whether the cursor says that a slot is decided. A nil cursor has passed no slot.
func (c *Cursor) Passed(slot time.Time) bool {
	return c != nil && (!slot.After(c.After) || slices.ContainsFunc(c.Beyond, slot.Equal))
}

// Files records which sets of job files have been applied, so that a replica with older files never undoes newer ones.
// Stored at files.
type Files struct {
	Hash    string    `json:"hash"` // of the set in force
	By      string    `json:"by"`   // the replica that applied it
	At      time.Time `json:"at"`
	History []string  `json:"history,omitempty"` // hashes of earlier sets, newest first, bounded
	Op      string    `json:"op,omitempty"`

	Rev int64 `json:"-"`
}
