package job

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Run is the one record of a slot, of a manual trigger or of a delayed submission. Stored at runs/<job>/<slot or id>
// for its whole life. Its methods return changed copies and never touch the receiver.
type Run struct {
	Job  string    `json:"job"`
	ID   string    `json:"id"` // the last part of its key: the slot, or an id for runs without one
	Kind RunKind   `json:"kind"`
	Slot time.Time `json:"slot"` // for runs without a schedule: the time they were asked for
	Due  time.Time `json:"due"`  // not before it: the slot plus jitter, or the time of the next attempt

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // why it waits, was skipped, or ended otherwise than well
	Late   bool   `json:"late,omitempty"`   // its slot passed before anybody could dispatch it, or behind a run that was late

	Attempt  int       `json:"attempt,omitempty"` // number of the present or last attempt, from 1
	Worker   string    `json:"worker,omitempty"`  // that has the present attempt
	Session  string    `json:"session,omitempty"` // of that worker
	Token    int64     `json:"token,omitempty"`   // fencing token of the present attempt, once it is claimed
	Armed    time.Time `json:"armed,omitzero"`    // when the run was given to it, by the leader's clock
	Ahead    bool      `json:"ahead,omitempty"`   // given to it before its slot; taken back, its slot is decided in its time
	Limits   []string  `json:"limits,omitempty"`  // that the present attempt holds, or the last one held
	Started  time.Time `json:"started,omitzero"`  // of the present attempt
	Bound    Duration  `json:"bound,omitempty"`   // how long it may take: timeout and kill grace, as its worker read them
	Finished time.Time `json:"finished,omitzero"` // of the run: set when it turns terminal
	Attempts []Attempt `json:"attempts,omitempty"`
	LostMore int       `json:"lost_more,omitempty"` // attempts that were lost and are no longer in Attempts
	Exit     *int      `json:"exit,omitempty"`      // exit code or HTTP status of the last attempt
	Output   string    `json:"output,omitempty"`    // tail of the last attempt's output, at most OutputTail bytes

	Cancel     *Cancel         `json:"cancel,omitempty"` // somebody asked for its end
	Key        string          `json:"key,omitempty"`    // the caller's idempotency key
	Payload    json.RawMessage `json:"payload,omitempty"`
	Spec       *Spec           `json:"spec,omitempty"` // of an ad hoc run
	RetryOf    string          `json:"retry_of,omitempty"`
	By         string          `json:"by,omitempty"` // who asked, for runs without a schedule
	Created    time.Time       `json:"created"`
	Generation int64           `json:"generation,omitempty"` // of the job when the run was created, or given to a worker last
	Term       int64           `json:"term,omitempty"`       // of the leader that last wrote it
	Op         string          `json:"op,omitempty"`         // id of the write that made this version

	Rev int64 `json:"-"`
}

// Why a run waits that was just asked for: a delayed one, and any other. The leader tells more of those that come first.
const (
	ReasonNotYet = "waits for its time"
	ReasonNew    = "waits for a worker"
)

// OutputTail is how much of an attempt's output its run record keeps, in bytes.
const OutputTail = 8 << 10

// RunKind says what brought a run about.
type RunKind string

// The kinds of runs.
const (
	KindScheduled RunKind = "scheduled"
	KindManual    RunKind = "manual"  // rota run
	KindDelayed   RunKind = "delayed" // rota submit
	KindRetry     RunKind = "retry"   // rota retry
)

// Attempt is one finished try at a run, by one worker, with one fencing token.
type Attempt struct {
	Number   int       `json:"number"`
	Worker   string    `json:"worker"`
	Token    int64     `json:"token"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Exit     *int      `json:"exit,omitempty"`
	GivenUp  bool      `json:"given_up,omitempty"` // the leader ended it, since its worker was lost or did not
}

// NotBegun stands in the reason of a lost attempt whose work had not begun: it may be repeated, whatever the job says.
const NotBegun = "before it began"

// WorkerStopped begins the reason of a lost attempt whose worker was told to stop.
const WorkerStopped = "worker stopped"

// maxAttempts bounds the attempts that a record keeps: the first and the latest.
const maxAttempts = 20

// Cancel records that somebody asked for the end of a run.
type Cancel struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Is says whether c, which may be nil, is the same request as o, whose time tells it from others.
func (c *Cancel) Is(o *Cancel) bool {
	return c != nil && c.At.Equal(o.At) && c.By == o.By && c.Reason == o.Reason
}

// Name is the run's identity, <job>/<slot or id>: what a job sees as ROTA_RUN.
func (r *Run) Name() string { return r.Job + "/" + r.ID }

// IdempotencyKey is the same for all attempts of a run, and for no other run of its job while this one is kept: the caller's
// own key, who may have given it to other jobs as well, or else the run's name.
func (r *Run) IdempotencyKey() string {
	if r.Key != "" {
		return r.Key
	}
	return r.Name()
}

// Active says whether the run occupies its job: it is with a worker, or has begun and waits for another attempt,
// or its time has come at now. A submission for later is not active.
func (r *Run) Active(now time.Time) bool {
	switch r.State {
	case Armed, Running:
		return true
	case Pending:
		return r.Attempt > 0 || !r.Due.After(now)
	}
	return false
}

// SlotID is the identity of a slot: RFC 3339 in UTC, with a fraction only where there is one.
func SlotID(slot time.Time) string { return slot.UTC().Format(time.RFC3339Nano) }

// ParseRunName splits <job>/<slot or id>.
func ParseRunName(name string) (job, id string, err error) {
	job, id, ok := strings.Cut(name, "/")
	if !ok || job == "" || id == "" || strings.Contains(id, "/") {
		return "", "", fmt.Errorf("run %q: write <job>/<slot or id>, as `rota runs` prints it", name)
	}
	return job, id, nil
}

// LostAttempts counts the attempts whose worker vanished or stopped.
func (r *Run) LostAttempts() int { return r.LostMore + r.lost() }

func (r *Run) lost() (n int) {
	for _, a := range r.Attempts {
		if a.State == Lost {
			n++
		}
	}
	return n
}

// WorkersLost counts the attempts that may have cost their worker: see CostsWorker. It goes by those that the record keeps.
func (r *Run) WorkersLost() (n int) {
	for _, a := range r.Attempts {
		if a.State == Lost && CostsWorker(a.Reason) {
			n++
		}
	}
	return n
}

// CostsWorker says whether an attempt that was lost for reason may be why: its work had begun, and nobody told its worker to
// stop.
func CostsWorker(reason string) bool {
	return !strings.HasPrefix(reason, WorkerStopped) && !strings.Contains(reason, NotBegun)
}

// FailedAttempts counts the attempts that ended by themselves, and not well.
func (r *Run) FailedAttempts() int { return len(r.Attempts) - r.lost() }

// Outcome is how one attempt ended.
type Outcome struct {
	State  State         `json:"state"` // Succeeded, Failed, TimedOut, Canceled or Lost
	At     time.Time     `json:"at"`
	Reason string        `json:"reason,omitempty"`
	Exit   *int          `json:"exit,omitempty"`
	Output string        `json:"output,omitempty"` // tail
	Retry  bool          `json:"retry,omitempty"`  // the attempt says that another one may help
	After  time.Duration `json:"after,omitempty"`  // the target's wish for when (Retry-After), 0: none
}
