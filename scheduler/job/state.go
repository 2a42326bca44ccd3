package job

import "slices"

// State is the state of a run.
type State string

// The states of a run.
const (
	Pending   State = "pending"   // waiting for its time, for a worker, for an earlier run or for a retry; Reason says which
	Armed     State = "armed"     // assigned to a worker, not begun
	Running   State = "running"   // claimed by its worker
	Succeeded State = "succeeded" // terminal, as all below
	Failed    State = "failed"
	TimedOut  State = "timed_out"
	Canceled  State = "canceled"
	Lost      State = "lost"    // its worker was lost, and no retry is allowed
	Skipped   State = "skipped" // it never started; Reason says why
)

// States lists every state, the terminal ones last.
func States() []State {
	return []State{Pending, Armed, Running, Succeeded, Failed, TimedOut, Canceled, Lost, Skipped}
}

// transitions is the table of the diagram in the package's documentation.
var transitions = []struct {
	from State
	to   []State
}{
	{"", []State{Pending, Armed, Skipped}},                          // a new run
	{Pending, []State{Armed, Canceled, Skipped, Succeeded, Failed}}, // the last two: its copies have ended
	{Armed, []State{Armed, Pending, Running, Canceled}},
	{Running, []State{Pending, Succeeded, Failed, TimedOut, Canceled, Lost}},
}

// Terminal reports whether a run never leaves this state.
func (s State) Terminal() bool {
	switch s {
	case Succeeded, Failed, TimedOut, Canceled, Lost, Skipped:
		return true
	}
	return false
}

// IsFailure reports whether a run failed, timed out or was lost. The conditions of steps, messages, pings and counts mean this by a
// failure. A run that was canceled or skipped did not fail.
func (s State) IsFailure() bool { return s == Failed || s == TimedOut || s == Lost }

// Valid reports whether s is one of States.
func (s State) Valid() bool { return slices.Contains(States(), s) }

// CanBecome reports whether a run in state s may go to state t.
func (s State) CanBecome(t State) bool {
	for _, a := range transitions {
		if a.from == s {
			return slices.Contains(a.to, t)
		}
	}
	return false
}
