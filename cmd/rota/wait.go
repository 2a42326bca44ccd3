package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// waitFlags say whether and how a command stays until its run has ended.
type waitFlags struct {
	wait    bool
	logs    bool
	timeout time.Duration
}

func (w *waitFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&w.wait, "wait", false, "wait for the end, and exit with the job's code")
	flags.BoolVar(&w.logs, "logs", false, "print the output while it comes; implies --wait")
	flags.DurationVar(&w.timeout, "timeout", 0, "stop waiting after this time; the run goes on (default: wait as long as it takes)")
}

// How a run is looked at until it has ended.
const (
	firstLook = 50 * time.Millisecond
	slowestBy = time.Second
	outage    = time.Minute // a cluster that is silent for so long is given up
)

// errWaited is the cause with which --timeout ends the waiting.
var errWaited = errors.New("waited long enough")

// submitted prints a new run's name, or waits for its end, as the flags say. The error carries the job's exit code.
func (c *cli) submitted(ctx context.Context, cl *client.Client, r api.RunView, w waitFlags) error {
	if !w.wait && !w.logs {
		return c.print(r, func(p *page) { p.line("%s", r.Ref) })
	}
	if c.forPeople() {
		if w.logs {
			c.note("run %s", r.Ref) // stdout is the job's
		} else if _, err := fmt.Fprintln(c.out, r.Ref); err != nil {
			return err
		}
	}
	r, err := c.await(ctx, cl, r.Ref, w.logs && c.forPeople(), w.timeout)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		if err := c.print(r, nil); err != nil {
			return err
		}
	}
	if r.State == job.Succeeded {
		c.note("run %s succeeded after %s", r.Ref, lasted(begunAt(&r.Run), r.Finished, c.now()))
		return nil
	}
	return &codedError{code: c.jobCode(ctx, cl, &r), err: errors.New(outcomeText(&r))}
}

// await returns the run once it has ended. It outlasts replicas that come and go; with logs it prints the output of
// every attempt as it comes.
func (c *cli) await(ctx context.Context, cl *client.Client, name string, logs bool, timeout time.Duration) (api.RunView, error) {
	outer := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errWaited)
		defer cancel()
	}
	var (
		last        api.RunView
		unreachable time.Time // since when; zero: it answers
		shown       int       // the last attempt whose output was printed
		pause       = firstLook
	)
	for {
		r, err := cl.Run(ctx, name)
		switch {
		case ctx.Err() != nil:
			return r, unfinished(outer, ctx, name, &last.Run, timeout)
		case err == nil:
			last, unreachable = r, time.Time{}
		case !errors.Is(err, api.ErrUnavailable):
			return r, err
		case unreachable.IsZero():
			unreachable = c.now()
			c.note("no answer, still waiting for run %s: %v", name, err)
		case c.now().Sub(unreachable) > outage:
			return r, err
		}
		if err == nil {
			if logs {
				if shown, err = c.showAttempts(ctx, cl, &r, shown); err != nil && ctx.Err() == nil {
					return r, err
				}
			}
			if r.State.Terminal() {
				return r, nil
			}
		}
		if sleep(ctx, pause) != nil {
			continue // the look that follows tells why
		}
		pause = min(2*pause, slowestBy)
	}
}

// unfinished says why nobody waits any longer.
func unfinished(outer, ctx context.Context, name string, last *job.Run, timeout time.Duration) error {
	if outer.Err() == nil {
		state := orDash(string(last.State))
		if last.State == job.Pending && last.Reason != "" {
			state += " (" + printable(last.Reason) + ")"
		}
		return &codedError{
			code: exitFailed,
			hint: fmt.Sprintf("`rota run-info %s` shows how it goes on, `rota cancel %s` ends it", name, name),
			err:  fmt.Errorf("run %s is %s after %s", name, state, timeout),
		}
	}
	return &codedError{
		code: exitFailed, // a signal has its own
		hint: fmt.Sprintf("run %s goes on; `rota cancel %s` ends it", name, name),
		err:  context.Cause(ctx),
	}
}

// jobCode is the code with which a run that did not succeed lets the command exit.
func (c *cli) jobCode(ctx context.Context, cl *client.Client, r *api.RunView) int {
	switch {
	case r.State == job.TimedOut:
		return exitTimedOut
	case r.State != job.Failed, r.Exit == nil, *r.Exit <= 0, *r.Exit > 255:
		return exitFailed
	}
	spec := r.Spec
	if spec == nil {
		j, err := cl.Job(ctx, r.Job)
		if err != nil {
			return *r.Exit // it is gone, or nobody answers: most jobs are commands
		}
		spec = j.Spec
	}
	if spec.Kind() == "http" {
		return exitFailed // Exit is the status
	}
	return *r.Exit
}

// outcomeText says how a run ended.
func outcomeText(r *api.RunView) string {
	text := fmt.Sprintf("run %s %s", r.Ref, outcomeWord(r.State))
	switch {
	case r.Reason != "": // it tells of the exit code
		text += ": " + printable(r.Reason)
	case r.Exit != nil:
		text += fmt.Sprintf(" (%d)", *r.Exit)
	}
	return text
}

func outcomeWord(s job.State) string {
	switch s {
	case job.TimedOut:
		return "timed out"
	case job.Canceled, job.Lost, job.Skipped:
		return "was " + string(s)
	}
	return string(s)
}
