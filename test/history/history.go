package history

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Version is one version of one key, from a watch. A deletion has no value.
type Version struct {
	Key     string
	Value   []byte
	Rev     int64 // revision of the write or deletion
	Create  int64 // revision at which the key was created; 0 for a deletion
	Deleted bool
	Seen    time.Time // when the recorder got it
}

// Effect is one execution of an attempt as its target saw it: an HTTP request, or a line that a command wrote.
type Effect struct {
	Job     string
	Run     string // <job>/<slot or id>
	Attempt int
	Token   int64
	Key     string // idempotency key, without quotes
	Arrived time.Time
	Ended   time.Time // zero: no end was recorded
	Well    bool      // it ended in a way that makes its attempt a success
	Alive   time.Time // its last sign of life; zero: it gives none. An execution that was killed has no end
}

// until returns the last instant at which the execution certainly ran; zero if that is unknown.
func (e *Effect) until() time.Time {
	if e.Ended.IsZero() {
		return e.Alive
	}
	return e.Ended
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults. An attempt may lose its worker in all of them except the last two. A process that is asked to stop
// drains: an attempt that ends within the grace period is not lost.
const (
	Kill   FaultKind = "kill"   // SIGKILL
	Pause  FaultKind = "pause"  // SIGSTOP, until SIGCONT
	Outage FaultKind = "outage" // the store had no quorum
	Drain  FaultKind = "drain"  // SIGTERM, from the end of the grace period until the process had ended
	Evict  FaultKind = "evict"  // its presence was deleted from the store by hand
	Stop   FaultKind = "stop"   // SIGTERM, until the process had ended: another replica may have to lead, but no attempt is lost
	Deaf   FaultKind = "deaf"   // it got no changes of the store: it may decide late, but no attempt is lost
)

// Lasts reports whether a fault of this kind has a beginning and an end. The other kinds are instants.
func (k FaultKind) Lasts() bool { return k != Kill && k != Evict }

// Fault is a fault of one process, or of all.
type Fault struct {
	Kind  FaultKind
	Node  string // "": every node
	At    time.Time
	Until time.Time // zero: an instant, or it lasted to the end
	// Delays is how long after its end slots may still be late because of it. Zero: History.Recovery. Negative: it causes
	// no delay.
	Delays time.Duration
}

func (f Fault) String() string {
	return fmt.Sprintf("%s of %s at %s", f.Kind, f.Node, f.At.UTC().Format(clock))
}

// Job is a job of a job file, with the judge's expectations.
type Job struct {
	Name string
	Spec job.Spec // with defaults
	// Effects says that the target of the job reports to History.Effects. Then every run must have an effect.
	Effects bool
	// MayFail says that runs may end without success.
	MayFail bool
	// Edited says that the job was changed or removed during the history. Its slots are then those of the definitions in the
	// store, each while it was in force, and its effects are judged by its records alone.
	Edited bool
	// Tolerance is how long after its slot an effect may start, without a fault or an earlier run of the job. The history must
	// then have all faults that can delay it, and all pauses. If it is zero, lateness is not judged, and a slot need not run if
	// the store states a reason of the job's policy.
	Tolerance time.Duration
	// From and Until bound the slots that must be on time, for a job with a Tolerance: those after From and up to Until. A zero
	// From means History.Recovery after the job was created; a zero Until means no bound.
	From, Until time.Time
}

// Halt is a time in which a job is paused and decides no slots. Pauses in the store need not be given.
type Halt struct {
	Job   string // "": every job
	From  time.Time
	Until time.Time // zero: it lasted to the end
}

// History has everything that was recorded, from an empty store to a store without active runs.
type History struct {
	Prefix   string // of all keys, without a final slash
	Jobs     []Job
	Versions []Version // all keys under Prefix, in the order of revisions
	Effects  []Effect
	Faults   []Fault
	Halts    []Halt
	Calls    []Call // requests of clients and their answers; nil: not recorded
	// ByHand are keys that the test wrote itself. No rule about records applies to them.
	ByHand map[string]bool
	// PutBack are keys whose earlier version the test wrote again by hand. rota never writes the same version twice, so an
	// exact repetition is the test's write. It is no violation, and rota's reaction to it is judged.
	PutBack map[string]bool
	// Hand are revisions at which the test overwrote records of rota. Those versions are ignored. The version before counts
	// until rota writes again, and that write is judged.
	Hand map[int64]bool
	// Slack bounds the time between an effect and its record: for a request to arrive, and for an outcome to be stored. Zero:
	// DefaultSlack.
	Slack time.Duration
	// Recovery is how long after a fault slots may still be late because of it. Zero: DefaultRecovery.
	Recovery time.Duration
	// Skew is how far the clock of a process may be ahead of another clock, including the clock by which effects are recorded.
	Skew time.Duration
	// Over is when recording ended. Zero: the time of the last record.
	Over time.Time
}

const (
	// DefaultSlack fits processes on one busy machine.
	DefaultSlack = 2 * time.Second
	// DefaultRecovery is twice the lease of an election, plus time to catch up.
	DefaultRecovery = 20 * time.Second
)

// Violation is a promise that was not kept.
type Violation struct {
	Rule string // one word
	What string // the run, the job, the key or the call
	Text string
}

func (v Violation) String() string { return fmt.Sprintf("%-10s %s: %s", v.Rule, v.What, v.Text) }

// The rules.
const (
	RuleRecreated  = "recreated"  // a run has one key that is created once
	RuleTransition = "transition" // a run follows the transitions
	RuleTerminal   = "terminal"   // a run ends once, and its end is never changed
	RuleUnfinished = "unfinished" // every run ends
	RuleCursor     = "cursor"     // a cursor moves forward, in the same transaction as the run or the reason
	RuleTerm       = "term"       // a leader's write carries the term in force
	RuleToken      = "token"      // tokens rise, and claim and outcome have the token with which the run was armed
	RuleOverlap    = "overlap"    // runs of a job overlap only if its policy allows it; skips and cancels for an overlap have evidence
	RuleLimit      = "limit"      // a limit never has too many holders, and every run that names it holds it
	RuleSlot       = "slot"       // every slot has a run or a reason for its skip; a time that is not a slot has neither
	RuleStep       = "step"       // a step runs once for a slot, after its parents, and only if their ends allow it
	RuleApproval   = "approval"   // a run that needs an approval runs only after a person has approved it, once and in time
	RuleCopy       = "copy"       // a run on every worker has one copy on each worker that accepted it; a copy never moves
	RuleMissed     = "missed"     // every run that is due has an effect
	RuleExtra      = "extra"      // no effect without a run and a claim
	RuleDouble     = "double"     // no repeated effect, unless its first worker was lost
	RuleTime       = "time"       // an effect starts in the window of its slot
	RuleOutcome    = "outcome"    // an end that a target saw is recorded correctly
	RuleRetry      = "retry"      // no more attempts than the job's retry policy grants
	RuleAnswer     = "answer"     // the answers to clients are linearizable, and stay true
)

const clock = "15:04:05.000"
