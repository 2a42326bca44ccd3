package command_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// An executor of commands gives the program variables that describe its attempt.
func ExampleNew() {
	e := command.New(command.Config{Environ: os.Environ()}, time.Now)
	o := e.Execute(context.Background(), executor.Request{
		Run:    job.Run{Job: "backup", ID: "m1", Attempt: 2},
		Spec:   job.Spec{Shell: `echo "$ROTA_RUN, attempt $ROTA_ATTEMPT"; exit 75`},
		Output: os.Stdout,
	})
	fmt.Printf("%s: %s\n", o.State, o.Reason)
	// Output:
	// backup/m1, attempt 2
	// failed: exit code 75: asks for a retry
}
