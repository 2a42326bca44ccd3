package handler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A program registers functions under the names that jobs use in their key handler. The worker of the program then executes
// attempts of these jobs with them.
func ExampleFunc() {
	charge := func(ctx context.Context, t handler.Task) error {
		fmt.Fprintf(t.Output, "charging for %s, attempt %d\n", t.Slot.Format(time.DateOnly), t.Attempt)
		return ctx.Err()
	}
	e := handler.New(map[string]handler.Func{"charge": charge}, time.Now)
	fmt.Println(e.Names())

	o := e.Execute(context.Background(), executor.Request{
		Run:    job.Run{Job: "billing", Slot: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Attempt: 1},
		Spec:   job.Spec{Handler: "charge"},
		Output: os.Stdout,
	})
	fmt.Println(o.State)
	// Output:
	// [charge]
	// charging for 2026-11-24, attempt 1
	// succeeded
}

// An error asks for a retry by the job's policy. Permanent forbids it, and RetryAfter delays it.
func ExamplePermanent() {
	charge := func(_ context.Context, t handler.Task) error {
		if len(t.Payload) == 0 {
			return handler.Permanent(errors.New("no account to charge"))
		}
		return handler.RetryAfter(errors.New("bank is closed"), time.Hour)
	}
	e := handler.New(map[string]handler.Func{"charge": charge}, time.Now)
	for _, payload := range []string{"", `{"account": 7}`} {
		o := e.Execute(context.Background(), executor.Request{
			Run:    job.Run{Job: "billing", Payload: []byte(payload)},
			Spec:   job.Spec{Handler: "charge"},
			Output: os.Stdout,
		})
		fmt.Println(o.State, o.Reason, o.Retry, o.After)
	}
	// Output:
	// failed no account to charge false 0s
	// failed bank is closed true 1h0m0s
}
