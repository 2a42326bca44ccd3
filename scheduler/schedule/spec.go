package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of a Spec.
const (
	MinEvery       = time.Second               // the shortest period
	MaxEvery       = 10 * 365 * 24 * time.Hour // the longest period
	MaxExpression  = 256                       // bytes of one cron expression
	MaxExpressions = 100                       // cron expressions of one job
	MaxDates       = 10_000                    // dates of one list of one job
)

// Spec says when a job runs. Exactly one of Cron, Every and At is set.
type Spec struct {
	Cron     []string      // one or more expressions; the slots are those of all of them
	Every    time.Duration // slots at the multiples of Every since 1970-01-01T00:00:00Z; whole milliseconds
	At       []time.Time   // the slots; whole milliseconds
	Timezone string        // IANA name; empty means UTC
	Gap      Gap           // empty means GapRun
	Fold     Fold          // empty means FoldFirst
	Start    time.Time     // inclusive lower bound of the slots; zero: no bound
	End      time.Time     // exclusive upper bound of the slots; zero: no bound
	Calendar *Calendar     // the days on which the job runs; nil: every day
	Exclude  []string      // dates YYYY-MM-DD in the job's zone on which no slot falls
	Seed     string        // the job's name: H and the jitter are hashed from it
	Jitter   time.Duration // upper bound (exclusive) of Offset; whole milliseconds; zero means no offset
}

// Gap is the policy for a wall time that the clock jumps over.
type Gap string

// The gap policies.
const (
	GapRun  Gap = "run"  // it is moved forward by the length of the jump
	GapSkip Gap = "skip" // it has no slot
)

// Gaps lists every gap policy, the default first.
func Gaps() []Gap { return []Gap{GapRun, GapSkip} }

// Fold is the policy for a wall time that the clock shows twice.
type Fold string

// The fold policies.
const (
	FoldFirst Fold = "first" // one slot, the first time that the clock shows it
	FoldLast  Fold = "last"  // one slot, the last time that the clock shows it
	FoldBoth  Fold = "both"  // one slot each time that the clock shows it
)

// Folds lists every fold policy, the default first.
func Folds() []Fold { return []Fold{FoldFirst, FoldLast, FoldBoth} }

// Error is one reason why a Spec is refused.
type Error struct {
	Field string // key in the job file: schedule, every, at, timezone, dst.gap, dst.fold, start, end, exclude, calendar, jitter
	Index int    // position in the list that Field names; -1 if Field is not a list or the whole list is meant
	Expr  string // the value as written, if there is one
	Msg   string // what is wrong
	Hint  string // what to write instead
}

// neverFires is the start of Msg for a valid value without any slot.
const neverFires = "never fires"

// NeverFires reports whether the value is valid and is refused only because it has no slot.
func (e *Error) NeverFires() bool { return strings.HasPrefix(e.Msg, neverFires) }

// Error returns the reason in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Field)
	if e.Expr != "" {
		fmt.Fprintf(&b, " %q", e.Expr)
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}
