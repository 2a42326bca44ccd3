package history

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Version is one version of one key, as a watch told it. A deletion has no value.
type Version struct {
	Key     string
	Value   []byte
	Rev     int64 // at which it was written or deleted
	Create  int64 // at which the key was created; 0 for a deletion
	Deleted bool
	Seen    time.Time // when the recorder heard of it
}

// Effect is one execution of an attempt as its target saw it: an HTTP request, or what a command wrote down.
type Effect struct {
	Job     string
	Run     string // <job>/<slot or id>
	Attempt int
	Token   int64
	Key     string // idempotency key, without quotes
	Arrived time.Time
	Ended   time.Time // zero: it was never seen to end
	Well    bool      // it ended, and in a way that makes its attempt a success, if its worker hears of it
	Alive   time.Time // when it was last seen at work; zero: it says nothing while it is. One that was killed has no end
}

// until is until when an execution lasted, for certain; zero if nobody knows.
func (e *Effect) until() time.Time {
	if e.Ended.IsZero() {
		return e.Alive
	}
	return e.Ended
}

// FaultKind says what was done to a process.
type FaultKind string

// The faults. All but the last two may cost an attempt its worker. A process that is asked to stop drains, and loses nothing
// that ends within its grace.
const (
	Kill   FaultKind = "kill"   // SIGKILL
	Pause  FaultKind = "pause"  // SIGSTOP, until SIGCONT
	Outage FaultKind = "outage" // no majority of the store could be reached
	Drain  FaultKind = "drain"  // SIGTERM, from when its grace was over until it had ended
	Evict  FaultKind = "evict"  // its presence was removed from the store by hand
	Stop   FaultKind = "stop"   // SIGTERM, until it had ended: another one may have to lead, but no attempt is lost
	Deaf   FaultKind = "deaf"   // nobody told it what changes in the store: it may decide late, but no attempt is lost
)

// Lasts says whether such a fault has a beginning and an end. Others are instants.
func (k FaultKind) Lasts() bool { return k != Kill && k != Evict }

// Fault is something that was done to a process, or to all.
type Fault struct {
	Kind  FaultKind
	Node  string // "": every node
	At    time.Time
	Until time.Time // zero for an instant, or if it lasted to the end
	// Delays is how long after its end slots may still come late because of it. History.Recovery if zero; negative: it
	// delays nothing.
	Delays time.Duration
}

func (f Fault) String() string {
	return fmt.Sprintf("%s of %s at %s", f.Kind, f.Node, f.At.UTC().Format(clock))
}

// Job is a job as its file says it, and what is expected of it.
type Job struct {
	Name string
	Spec job.Spec // with defaults
	// Effects says that the target of the job reports to History.Effects, so that every run must have one.
	Effects bool
	// MayFail says that runs may end otherwise than well.
	MayFail bool
	// Edited says that the job was changed or removed meanwhile: its slots are those of the definitions in the store,
	// each for as long as it was in force. Its effects are then judged by its records alone.
	Edited bool
	// Tolerance is how long after its slot an effect may begin, where no fault and no earlier run of the job delays it.
	// All faults that can delay it, and all pauses, must then be part of the history. If zero, it is not judged how late
	// something was, and a slot for which the store states a reason that the job's policy knows is not owed.
	Tolerance time.Duration
	// From and Until bound the slots that must be on time, for a job with a Tolerance: those after From, which is
	// History.Recovery after the job was made if zero, and up to Until, if that is not zero.
	From, Until time.Time
}

// Halt is a time in which a job is paused: it decides no slots. Those that the store shows need not be given.
type Halt struct {
	Job   string // "": every job
	From  time.Time
	Until time.Time // zero: to the end
}

// History is what was recorded, from an empty store to one in which nothing is under way any more.
type History struct {
	Prefix   string // of all keys, without a slash at its end
	Jobs     []Job
	Versions []Version // of all keys under Prefix, in the order of revisions
	Effects  []Effect
	Faults   []Fault
	Halts    []Halt
	Calls    []Call // what clients asked for and were told; none if nobody recorded it
	// ByHand are keys that the test wrote itself: none of the rules about records holds for them.
	ByHand map[string]bool
	// PutBack are keys under which the test put an earlier version again by hand. There a version that repeats one before it,
	// letter by letter, is not rota's, whose versions all differ: it is no fault, and what rota makes of it is judged.
	PutBack map[string]bool
	// Hand are revisions at which the test wrote over records of rota's. Those versions are nobody's: what was before them counts as
	// standing until rota writes again, and that is judged.
	Hand map[int64]bool
	// Slack bounds what lies between an effect and its record: how long a request that was sent may take to arrive, and
	// an outcome to be safe. DefaultSlack if zero.
	Slack time.Duration
	// Recovery is how long after a fault slots may still come late because of it. DefaultRecovery if zero.
	Recovery time.Duration
	// Skew is how far the clock of a process may be ahead of another one, and of the one by which effects are recorded.
	Skew time.Duration
	// Over is when recording ended; when the last thing was recorded if zero.
	Over time.Time
}

const (
	// DefaultSlack fits processes on one busy machine.
	DefaultSlack = 2 * time.Second
	// DefaultRecovery is twice the lease of an election, and time to catch up.
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
	RuleRecreated  = "recreated"  // a run has one key, created once
	RuleTransition = "transition" // a run moves along the arrows
	RuleTerminal   = "terminal"   // a run ends once, and its end is never changed
	RuleUnfinished = "unfinished" // every run ends
	RuleCursor     = "cursor"     // a cursor moves forward, together with the run or the reason
	RuleTerm       = "term"       // a leader's write carries the reigning term
	RuleToken      = "token"      // tokens are those that were given out, and rise
	RuleOverlap    = "overlap"    // no two runs of a job at a time, unless it may; no skip without reason
	RuleLimit      = "limit"      // a limit has no more holders at a time than may, and all that need it
	RuleSlot       = "slot"       // every slot has a record or a reason; nothing else has
	RuleMissed     = "missed"     // every run that is owed is done, and was seen to be
	RuleExtra      = "extra"      // no effect without a run and a claim
	RuleDouble     = "double"     // no effect twice, unless its first worker was lost
	RuleTime       = "time"       // an effect begins at its slot, and not much later unless a fault delays it
	RuleOutcome    = "outcome"    // what a target saw end well is recorded as it ended
	RuleRetry      = "retry"      // no more attempts than the job's retry policy grants
	RuleAnswer     = "answer"     // what clients are told is as if one after the other had been served, and is kept
)

const clock = "15:04:05.000"
