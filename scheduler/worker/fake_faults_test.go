package worker

import (
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// answer gives ft to all calls from now on.
func (f *fakeStore) answer(ft fault) {
	f.set(func() { f.fault = func(string, *job.Run) fault { return ft } })
}

// only returns a fault that hits each call of op.
func only(op string, ft fault) func(string, *job.Run) fault {
	return func(got string, _ *job.Run) fault {
		if got == op {
			return ft
		}
		return none
	}
}

// once returns a fault that hits the first call of op for each state of a run.
func once(op string, ft fault) func(string, *job.Run) fault {
	seen := make(map[string]bool)
	return func(got string, run *job.Run) fault {
		if got != op || seen[fmt.Sprint(run.Name(), run.State, run.Attempt)] {
			return none
		}
		seen[fmt.Sprint(run.Name(), run.State, run.Attempt)] = true
		return ft
	}
}

// lostEnd returns a fault that hits the answer to the first write of the end of a run.
func lostEnd() func(string, *job.Run) fault {
	lost := false
	return func(op string, run *job.Run) fault {
		if op != "write" || lost || !run.State.Terminal() {
			return none
		}
		lost = true
		return applied
	}
}
