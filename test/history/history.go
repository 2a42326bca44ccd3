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
}

// FaultKind says what was done to a process.
type FaultKind string

// The faults that may cost an attempt its worker. A process that is asked to stop drains, and loses nothing that ends
// within its grace.
const (
	Kill   FaultKind = "kill"   // SIGKILL
	Pause  FaultKind = "pause"  // SIGSTOP, until SIGCONT
	Outage FaultKind = "outage" // no majority of the store could be reached
	Drain  FaultKind = "drain"  // SIGTERM, from when its grace was over until it had ended
	Evict  FaultKind = "evict"  // its presence was removed from the store by hand
)

// Lasts says whether such a fault has a beginning and an end. Others are instants.
func (k FaultKind) Lasts() bool { return k != Kill && k != Evict }

// Fault is something that was done to a process, or to all.
type Fault struct {
	Kind  FaultKind
	Node  string // "": every node
	At    time.Time
	Until time.Time // zero for an instant, or if it lasted to the end
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
	// each for as long as it was in force.
	Edited bool
}

// History is what was recorded, from an empty store to one in which nothing is under way any more.
type History struct {
	Prefix   string // of all keys, without a slash at its end
	Jobs     []Job
	Versions []Version // of all keys under Prefix, in the order of revisions
	Effects  []Effect
	Faults   []Fault
	// ByHand are keys that the test wrote itself: none of the rules about records holds for them.
	ByHand map[string]bool
	// Slack bounds what lies between an effect and its record: how long a request that was sent may take to arrive, and
	// an outcome to be safe. DefaultSlack if zero.
	Slack time.Duration
}

// DefaultSlack fits processes on one busy machine.
const DefaultSlack = 2 * time.Second

// Violation is a promise that was not kept.
type Violation struct {
	Rule string // one word
	What string // the run, the job or the key
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
	RuleSlot       = "slot"       // every slot has a record or a reason; nothing else has
	RuleMissed     = "missed"     // every run that is owed is done, and was seen to be
	RuleExtra      = "extra"      // no effect without a run and a claim
	RuleDouble     = "double"     // no effect twice, unless its first worker was lost
)

const clock = "15:04:05.000"
