package job

import "time"

// Job is a named definition: when to run, what to run, under which policies. Stored at jobs/<name>.
type Job struct {
	Name       string    `json:"name"`
	Origin     Origin    `json:"origin"`
	Generation int64     `json:"generation"` // from 1; rises with every change of Spec
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`

	// Since is the instant from which the present schedule is owed: slots at or before it are nobody's debt, but for those that
	// the schedule owed when the job was paused. SinceReason says why: created, rescheduled or resumed. SinceGeneration is the
	// generation that the schedule came with, and Scheduled when that was: Since is later if the job was paused after it.
	Since           time.Time `json:"since"`
	SinceReason     string    `json:"since_reason"`
	SinceGeneration int64     `json:"since_generation,omitempty"`
	Scheduled       time.Time `json:"scheduled,omitzero"`
	// Jittered is the jitter of the schedule that took the place of another one when it did: it says which slots are owed, whatever
	// the jitter becomes. nil for the first schedule, and in records of earlier builds.
	Jittered *Duration `json:"jittered,omitempty"`
	// Pauses are those under the present schedule that are over, in their order; see Halted.
	Pauses []PastPause `json:"pauses,omitempty"`
	// Notified is since when Spec.Notify names whom it names, of what they are told: nobody is told of what was before. Zero
	// if it never named anybody.
	Notified time.Time `json:"notified,omitzero"`

	Paused *Pause `json:"paused,omitempty"`
	Spec   *Spec  `json:"spec"`         // not nil; shared with jobs that say the same, and never changed
	Op     string `json:"op,omitempty"` // id of the write that made this version

	Rev int64 `json:"-"`
}

// The values of Job.SinceReason.
const (
	SinceCreated     = "created"
	SinceRescheduled = "rescheduled"
	SinceResumed     = "resumed"
)

// Origin says who owns a job's definition.
type Origin struct {
	Kind   string `json:"kind"`             // OriginFile or OriginAPI
	Source string `json:"source,omitempty"` // the file, or who called
}

// The origins. A job of a file is changed by changing the file; the API refuses to.
const (
	OriginFile = "file"
	OriginAPI  = "api"
)

// Gate is the cluster-wide pause. Stored at gate.
type Gate struct {
	Paused *Pause      `json:"paused,omitempty"`
	Since  time.Time   `json:"since,omitzero"`   // when dispatching was last resumed
	Pauses []PastPause `json:"pauses,omitempty"` // that are over, in their order; see Halted
	Op     string      `json:"op,omitempty"`

	Rev int64 `json:"-"`
}

// Cursor is how far a job's slots are decided. Stored at cursors/<job>; it only moves forward, and moves in the same
// transaction that creates the slot's run or states why there is none.
type Cursor struct {
	Job        string    `json:"job"`
	After      time.Time `json:"after"`         // every slot at or before it is decided
	Next       time.Time `json:"next,omitzero"` // the next slot to dispatch; zero: the schedule is over
	Generation int64     `json:"generation"`    // of the job that Next was computed from
	Term       int64     `json:"term"`          // of the leader that wrote it
	Op         string    `json:"op,omitempty"`

	Rev int64 `json:"-"`
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
