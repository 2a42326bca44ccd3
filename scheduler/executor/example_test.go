package executor_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A Set executes each kind of job with its own executor.
func ExampleSet() {
	set := executor.NewSet(map[string]executor.Executor{
		"handler": handler.New(map[string]handler.Func{
			"greet": func(_ context.Context, t handler.Task) error {
				_, err := fmt.Fprintln(t.Output, "hello from", t.Run)
				return err
			},
		}, time.Now),
	}, time.Now)
	for _, spec := range []job.Spec{{Handler: "greet"}, {Shell: "echo hello"}} {
		o := set.Execute(context.Background(), executor.Request{
			Run: job.Run{Job: "greeting", ID: "1"}, Spec: spec, Output: os.Stdout,
		})
		fmt.Printf("%s %q\n", o.State, o.Reason)
	}
	// Output:
	// hello from greeting/1
	// succeeded ""
	// failed "worker cannot execute jobs of kind \"shell\""
}

// A Redactor hides the values of references in output.
func ExampleRedactor() {
	out := executor.NewRedactor(os.Stdout, []string{"s3cret"})
	fmt.Fprint(out, "password: s3")
	fmt.Fprintln(out, "cret")
	out.Flush()
	// Output: password: ***
}
