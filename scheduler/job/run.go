package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is the only record of a slot, of a manual trigger or of a delayed submission. Stored at runs/<job>/<slot or id>.
// Its methods return changed copies and do not change the receiver.
type Run struct {
	Job  string    `json:"job"`
	ID   string    `json:"id"` // the last part of its key: the slot, or an id for runs without one
	Kind RunKind   `json:"kind"`
	Slot time.Time `json:"slot"` // for runs without a schedule: the time of the request
	Due  time.Time `json:"due"`  // the earliest begin: the slot plus jitter, or the time of the next attempt

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // why it waits, was skipped, or did not succeed
	Late   bool   `json:"late,omitempty"`   // its slot passed before a leader could dispatch it, or it waited behind a late run

	Attempt  int       `json:"attempt,omitempty"` // number of the present or last attempt, from 1
	Worker   string    `json:"worker,omitempty"`  // of the present attempt
	Session  string    `json:"session,omitempty"` // of that worker
	Token    int64     `json:"token,omitempty"`   // fencing token of the present attempt, once it is claimed
	Armed    time.Time `json:"armed,omitzero"`    // when the leader assigned the run, by its clock
	Ahead    bool      `json:"ahead,omitempty"`   // armed before its slot; if it is recalled, its slot is decided at its time
	Limits   []string  `json:"limits,omitempty"`  // held by the present or last attempt
	Started  time.Time `json:"started,omitzero"`  // of the present attempt
	Bound    Duration  `json:"bound,omitempty"`   // how long it may take: its timeout plus kill grace, as its worker read them
	Finished time.Time `json:"finished,omitzero"` // of the run: set when it becomes terminal
	Attempts []Attempt `json:"attempts,omitempty"`
	LostMore int       `json:"lost_more,omitempty"` // lost attempts that are no longer in Attempts
	Exit     *int      `json:"exit,omitempty"`      // exit code or HTTP status of the last attempt
	Output   string    `json:"output,omitempty"`    // tail of the last attempt's output, at most OutputTail bytes

	Outputs map[string]string `json:"outputs,omitempty"` // what its last attempt gives to the runs that follow it
	After   []Parent          `json:"after,omitempty"`   // the runs that it follows; nil: none
	// A step that was skipped because a job without parents skipped the slot.
	SlotSkipped bool `json:"slot_skipped,omitempty"`
	// Steps begin when it has ended, so its attempt ends with the session of its worker. Set when the run is armed.
	Followed bool `json:"followed,omitempty"`

	Approval *Approval       `json:"approval,omitempty"` // nil: it needs none, or nobody has been asked yet
	Cancel   *Cancel         `json:"cancel,omitempty"`   // a request to end it; nil: none
	Key      string          `json:"key,omitempty"`      // the caller's idempotency key
	Payload  json.RawMessage `json:"payload,omitempty"`

	Params    map[string]string `json:"params,omitempty"`    // values by name, those of defaults included
	Defaulted []string          `json:"defaulted,omitempty"` // names of the parameters whose value is the default, sorted

	Copies []string `json:"copies,omitempty"` // the workers that each have a copy of it, sorted; nil: it runs itself
	Copied bool     `json:"copied,omitempty"` // all these copies exist, or existed
	On     string   `json:"on,omitempty"`     // the only worker that may execute it; "": any that accepts it

	Spec       *Spec     `json:"spec,omitempty"` // of an ad hoc run
	RetryOf    string    `json:"retry_of,omitempty"`
	By         string    `json:"by,omitempty"` // the caller, for runs without a schedule
	Created    time.Time `json:"created"`
	Generation int64     `json:"generation,omitempty"` // of the job when the run was created or last armed
	Term       int64     `json:"term,omitempty"`       // of the leader that last wrote it
	Op         string    `json:"op,omitempty"`         // id of the write that made this version

	Rev int64 `json:"-"`
}

// The reasons of a new run that waits: ReasonNotYet for a delayed run, ReasonParents for a step, ReasonNew for any other. For the
// run that is the first in line, the leader writes a more exact reason.
const (
	ReasonNotYet  = "waits for its time"
	ReasonNew     = "waits for a worker"
	ReasonParents = "waits for its parents"
)

// MaxOutputs is how much the outputs of a run take, in bytes of names, values and separators.
const MaxOutputs = 32 << 10

// OutputTail is how much of an attempt's output the run record keeps, in bytes.
const OutputTail = 8 << 10

// RunKind says how a run was created.
type RunKind string

// The kinds of runs.
const (
	KindScheduled RunKind = "scheduled"
	KindManual    RunKind = "manual"   // rota run
	KindDelayed   RunKind = "delayed"  // rota submit
	KindRetry     RunKind = "retry"    // rota retry
	KindBackfill  RunKind = "backfill" // a past slot; rota backfill
	KindCopy      RunKind = "copy"     // of a run on every worker, for one of them
)

// Attempt is one finished attempt of a run, by one worker, with one fencing token.
type Attempt struct {
	Number   int       `json:"number"`
	Worker   string    `json:"worker"`
	Token    int64     `json:"token"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Exit     *int      `json:"exit,omitempty"`
	GivenUp  bool      `json:"given_up,omitempty"` // the leader ended it, because its worker was lost or overdue
}

// NotBegun is part of the reason of a lost attempt whose work had not begun. Such an attempt may be repeated under every delivery.
const NotBegun = "before it began"

// Unanswered is part of the reason of a lost attempt that timed out while nobody could say how its work ended.
const Unanswered = "while the API server does not answer"

// WorkerStopped begins the reason of a lost attempt whose worker was stopped by an operator.
const WorkerStopped = "worker stopped"

// HasBegun reports whether the work of a had begun, or may have.
func (a *Attempt) HasBegun() bool { return a.State != Lost || !strings.Contains(a.Reason, NotBegun) }

// maxAttempts bounds the attempts that a record keeps: the first one, then those that have begun, and of them the latest ones.
const maxAttempts = 20

// Cancel is a request to end a run.
type Cancel struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Is reports whether c, which may be nil, is the same request as o. Their times distinguish requests.
func (c *Cancel) Is(o *Cancel) bool {
	return c != nil && c.At.Equal(o.At) && c.By == o.By && c.Reason == o.Reason
}

// Name returns the run's identity, <job>/<slot or id>. A job sees it as ROTA_RUN.
func (r *Run) Name() string { return r.Job + "/" + r.ID }

// KeyRetention is the shortest time for which a run that was submitted with an idempotency key is kept after its end, even if less
// history is kept. While its record exists, the same key creates no other run.
const KeyRetention = 24 * time.Hour

// IdempotencyKey returns a key that all attempts of the run share. While the store keeps this run, no other run of its
// job has the key. It is the caller's key, which runs of other jobs may have too. If the caller gave none, it is the
// run's name.
func (r *Run) IdempotencyKey() string {
	if r.Key != "" {
		return r.Key
	}
	return r.Name()
}

// Active reports whether the run occupies its job at now: it is armed or running, waits for another attempt or for its
// approval or its copies, or is due. A submission for later is not active.
func (r *Run) Active(now time.Time) bool {
	switch r.State {
	case Armed, Running:
		return true
	case Pending:
		return r.Attempt > 0 || r.Asked() || r.Copies != nil || !r.Due.After(now)
	}
	return false
}

// KnownDue returns the due time of the run; zero if parents, a person or copies must set it first, or the run was canceled before
// they had.
func (r *Run) KnownDue() time.Time {
	if !r.Due.Before(WhenCopiesEnd) {
		return time.Time{}
	}
	return r.Due
}

// WaitsSince returns when the run began to wait for anything except its time: when a person was asked, when its workers were
// chosen, or when the run is due. The result lies after the present time if the run does not wait yet.
func (r *Run) WaitsSince() time.Time {
	switch {
	case r.AwaitsApproval():
		return r.Approval.Asked
	case r.Copies != nil && r.State == Pending:
		return r.Armed
	}
	return r.Due
}

// SlotID returns the identity of a slot: RFC 3339 in UTC, with a fraction only if it is not zero.
func SlotID(slot time.Time) string { return slot.UTC().Format(time.RFC3339Nano) }

// AppendSlotID appends the identity of a slot to b.
func AppendSlotID(b []byte, slot time.Time) []byte {
	return slot.UTC().AppendFormat(b, time.RFC3339Nano)
}

// ParseRunName splits <job>/<slot or id>.
func ParseRunName(name string) (job, id string, err error) {
	job, id, ok := strings.Cut(name, "/")
	if !ok || job == "" || id == "" || strings.Contains(id, "/") {
		return "", "", fmt.Errorf("run %q: write <job>/<slot or id>, as `rota runs` prints it", name)
	}
	return job, id, nil
}

// LostAttempts returns the number of attempts whose worker was lost or stopped.
func (r *Run) LostAttempts() int { return r.LostMore + r.lost() }

func (r *Run) lost() (n int) {
	for _, a := range r.Attempts {
		if a.State == Lost {
			n++
		}
	}
	return n
}

// WorkersLost returns the number of kept attempts that may have caused the loss of their worker: see CostsWorker.
func (r *Run) WorkersLost() (n int) {
	for _, a := range r.Attempts {
		if a.State == Lost && CostsWorker(a.Reason) {
			n++
		}
	}
	return n
}

// CostsWorker reports whether an attempt that was lost for a reason may have caused the loss of its worker: its work
// had begun, and no operator stopped the worker. An attempt that only has no answer costs no worker.
func CostsWorker(reason string) bool {
	return !strings.HasPrefix(reason, WorkerStopped) && !strings.Contains(reason, NotBegun) && !strings.Contains(reason, Unanswered)
}

// HasBegun reports whether an attempt of r that has ended had begun its work, or may have.
func (r *Run) HasBegun() bool {
	return slices.ContainsFunc(r.Attempts, func(a Attempt) bool { return a.HasBegun() })
}

// Outcome is how one attempt ended.
type Outcome struct {
	State   State             `json:"state"` // Succeeded, Failed, TimedOut, Canceled or Lost
	At      time.Time         `json:"at"`
	Reason  string            `json:"reason,omitempty"`
	Exit    *int              `json:"exit,omitempty"`
	Output  string            `json:"output,omitempty"`  // tail
	Outputs map[string]string `json:"outputs,omitempty"` // what the attempt gives to the runs that follow its run
	Retry   bool              `json:"retry,omitempty"`   // the attempt asks for a retry
	After   time.Duration     `json:"after,omitempty"`   // the delay that the target (Retry-After) or a shortage asks for; 0: none

	// for the worker: the machine could not start the attempt. The record says it by the reason alone. With After, others can start.
	NotBegun bool `json:"-"`
	KindAway bool `json:"-"` // for the worker, with NotBegun: only attempts of this kind cannot start
}
