package job

import "slices"

// State is where a run is in its life.
type State string

// The states of a run.
const (
	Pending   State = "pending"   // waiting for its time, for a worker, for an earlier run or for a retry; Reason says which
	Armed     State = "armed"     // given to a worker, not begun
	Running   State = "running"   // claimed by its worker
	Succeeded State = "succeeded" // terminal, as all below
	Failed    State = "failed"
	TimedOut  State = "timed_out"
	Canceled  State = "canceled"
	Lost      State = "lost"    // its worker vanished, and it may not be tried again
	Skipped   State = "skipped" // it never started; Reason says why
)

// States lists every state, the living before the terminal.
func States() []State {
	return []State{Pending, Armed, Running, Succeeded, Failed, TimedOut, Canceled, Lost, Skipped}
}

// arrows is the transition table: the diagram in the package's documentation.
var arrows = []struct {
	from State
	to   []State
}{
	{"", []State{Pending, Armed, Skipped}}, // birth
	{Pending, []State{Armed, Canceled, Skipped}},
	{Armed, []State{Armed, Pending, Running, Canceled}},
	{Running, []State{Pending, Succeeded, Failed, TimedOut, Canceled, Lost}},
}

// Terminal says whether a run in this state is never changed again.
func (s State) Terminal() bool {
	switch s {
	case Succeeded, Failed, TimedOut, Canceled, Lost, Skipped:
		return true
	}
	return false
}

// Valid says whether s is one of States.
func (s State) Valid() bool { return slices.Contains(States(), s) }

// May says whether a run in state s may go to state t.
func (s State) CanBecome(t State) bool {
	for _, a := range arrows {
		if a.from == s {
			return slices.Contains(a.to, t)
		}
	}
	return false
}
