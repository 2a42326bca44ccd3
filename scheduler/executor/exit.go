package executor

import (
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Exit codes that shells and sysexits.h give a meaning.
const (
	exitTempFail   = 75
	ExitCannotExec = 126
	ExitNotFound   = 127
	ExitSignal     = 128 // plus the number of the signal that ended the program
)

// ExitOutcome returns the outcome of a program that exited by itself with a code. success lists the codes that mean success;
// nil: 0. Every failure asks for a retry, unless the program does not exist or cannot be executed.
func ExitOutcome(code int, success []int) job.Outcome {
	o := job.Outcome{State: job.Failed, Exit: &code, Retry: true}
	switch {
	case slices.Contains(success, code), code == 0 && len(success) == 0:
		o.State, o.Retry = job.Succeeded, false
	case code == exitTempFail:
		o.Reason = "exit code 75: asks for a retry"
	case code == ExitCannotExec:
		o.Reason, o.Retry = "exit code 126: command cannot be executed", false
	case code == ExitNotFound:
		o.Reason, o.Retry = "exit code 127: command not found", false
	case code == 0:
		o.Reason = "exit code 0, which is not in success_codes"
	default:
		o.Reason = fmt.Sprintf("exit code %d", code)
	}
	return o
}
