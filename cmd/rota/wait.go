package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newWaitCommand(c *cli) *cobra.Command {
	var wait waitFlags
	cmd := &cobra.Command{
		Use:   "wait RUN | JOB",
		Short: "Wait for the end of a run",
		Long: `Wait until a run has ended, and exit with the job's code, as rota run --wait does. A job stands for its latest run that has
not ended, or for its latest run if all have ended. If the run has not ended after --timeout, the exit code is 6.`,
		Example:           "  rota wait nightly-backup/2026-01-31T02:30:00Z\n  rota wait charge --timeout 30s",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns(job.Pending, job.Armed, job.Running),
		RunE: c.reading(c.withRun(active(), func(ctx context.Context, cl *client.Client, args []string) error {
			if _, err := cl.Run(ctx, args[0]); err != nil { // an outage after this answer is waited for
				return err
			}
			return c.finish(ctx, cl, args[0], wait)
		})),
	}
	wait.addLogs(cmd, "follow the output")
	wait.addTimeout(cmd)
	return cmd
}

// waitFlags are the flags of commands that can wait for the end of a run.
type waitFlags struct {
	wait     bool
	logs     bool
	timeout  time.Duration
	workflow bool // wait also for the steps that the command has started
}

// add adds the flags of a command that makes a run.
func (w *waitFlags) add(cmd *cobra.Command) {
	w.addWait(cmd, "wait for the end, and exit with the job's code")
	w.addLogs(cmd, "follow the output; implies --wait")
}

func (w *waitFlags) addWait(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, usage)
	w.addTimeout(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if w.timeout != 0 && !w.wait && !w.logs {
			return usagef("%s: --timeout needs --wait", cmd.Name())
		}
		return nil
	}
}

func (w *waitFlags) addLogs(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&w.logs, "logs", false, usage)
}

func (w *waitFlags) addTimeout(cmd *cobra.Command) {
	addSpan(cmd.Flags(), &w.timeout, "timeout", 0, "stop waiting after this time; nothing is canceled (default: no limit)")
}

// limit returns a context that ends when the time to wait has passed.
func (w *waitFlags) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, w.timeout, waitedError{w.timeout})
}

// How often the command polls a run until it has ended.
const (
	firstPoll = 50 * time.Millisecond
	maxPoll   = time.Second
	maxOutage = time.Minute // the command fails if the cluster is silent for longer
)

// waitedError is the cause of the context when --timeout has passed.
type waitedError struct{ timeout time.Duration }

func (e waitedError) Error() string { return fmt.Sprintf("waited for %s", e.timeout) }

// submitted prints the name of a new run. If the flags say so, it also waits for the end of the run. Then its error has the exit
// code of the job.
func (c *cli) submitted(ctx context.Context, cl *client.Client, r api.RunView, w waitFlags) error {
	c.made = "run " + r.Ref + " exists"
	if !w.wait && !w.logs {
		c.notePaused(ctx, cl, &r)
		return c.print(r, func(p *page) { p.line("%s", r.Ref) })
	}
	if c.forPeople() {
		if w.logs {
			c.printErr("run %s", r.Ref) // stdout has the job's output
		} else if _, err := fmt.Fprintln(c.out, r.Ref); err != nil {
			return c.unprinted(err)
		}
	}
	return c.finish(ctx, cl, r.Ref, w)
}

// notePaused says that a new run waits because its job, or every job, is paused. Nothing else would say it.
func (c *cli) notePaused(ctx context.Context, cl *client.Client, r *api.RunView) {
	if r.State != job.Pending || !c.forPeople() {
		return
	}
	if j, err := cl.Job(ctx, r.Job); err == nil && j.Paused != nil {
		c.printNote("job %s is paused, so the run waits until `rota resume %s`", r.Job, r.Job)
	}
	if v, err := cl.Cluster(ctx); err == nil && v.Paused != nil {
		c.printNote("all jobs are paused, so the run waits until `rota resume --all`")
	}
}

// finish waits for the end of a run. Its error has the exit code of the job.
func (c *cli) finish(ctx context.Context, cl *client.Client, name string, w waitFlags) error {
	ctx, cancel := w.limit(ctx)
	defer cancel()
	r, err := c.await(ctx, cl, name, w.logs && c.forPeople())
	switch {
	case err != nil:
		return err
	case w.workflow:
		return c.finishSteps(ctx, cl, &r, w.logs && c.forPeople())
	case !c.forPeople():
		if err := c.print(r, nil); err != nil {
			return err
		}
	}
	return c.outcome(ctx, cl, &r)
}

// outcome reports that a run has succeeded. Otherwise it returns an error with the exit code of the job.
func (c *cli) outcome(ctx context.Context, cl *client.Client, r *api.RunView) error {
	if r.State == job.Succeeded {
		after := ""
		if took := lasted(startedAt(&r.Run), r.Finished, c.now()); took != "" { // a run of copies has no attempt of its own
			after = " after " + took
		}
		c.printErr("run %s succeeded%s", r.Ref, after)
		return nil
	}
	return &codedError{code: c.jobCode(ctx, cl, r), err: errors.New(outcomeText(r))}
}

// await waits for the end of a run and returns the run. It continues while no replica answers, for up to maxOutage. If logs is
// true, it prints the output of every attempt. waitFlags.limit makes a context with a limit.
func (c *cli) await(ctx context.Context, cl *client.Client, name string, logs bool) (api.RunView, error) {
	var (
		last        api.RunView
		unreachable time.Time // start of the outage; zero if there is none
		shown       int       // number of the last attempt whose output was printed
		pause       = firstPoll
		reason      = job.ReasonNew // the last reason that was shown
	)
	for {
		r, err := cl.Run(ctx, name)
		switch {
		case ctx.Err() != nil:
			return r, unfinished(ctx, name, &last.Run)
		case err == nil:
			last, unreachable = r, time.Time{}
		case !passes(err):
			return r, err
		case unreachable.IsZero():
			unreachable = c.now()
			c.printErr("no answer, still waiting for run %s: %v", name, err)
		case c.now().Sub(unreachable) > maxOutage:
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
			if r.State == job.Pending && r.Reason != "" && r.Reason != reason {
				reason = r.Reason
				c.printErr("run %s waits: %s", name, printable(reason))
			}
		}
		if sleep(ctx, pause) != nil {
			continue // if the error persists, the next poll returns it
		}
		pause = min(2*pause, maxPoll)
	}
}

// passes reports whether an error is over soon and says nothing about what the command asks for: no replica answers, or it gets too
// many requests of this client.
func passes(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return errors.Is(err, api.ErrUnavailable) || ok && answer.Status == http.StatusTooManyRequests
}

// unfinished returns the error for a wait that ended before the run ended.
func unfinished(ctx context.Context, name string, last *job.Run) error {
	if waited, ok := errors.AsType[waitedError](context.Cause(ctx)); ok {
		state := cmp.Or(string(last.State), "in an unknown state") // no replica answered in time
		if last.State == job.Pending && last.Reason != "" {
			state += " (" + printable(last.Reason) + ")"
		}
		return &codedError{
			code: exitWaiting,
			hint: fmt.Sprintf("`rota run-info %s` shows its progress, `rota cancel %s` cancels it", name, name),
			err:  fmt.Errorf("run %s is %s after %s", name, state, waited.timeout),
		}
	}
	return &codedError{
		code: exitFailed, // exitCode sets another code if a signal ended the wait
		hint: fmt.Sprintf("run %s continues; `rota cancel %s` cancels it", name, name),
		err:  context.Cause(ctx),
	}
}

// jobCode returns the exit code of this command for a run that did not succeed.
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
			return *r.Exit // the job is unknown: assume that it is a command
		}
		spec = j.Spec
	}
	if spec.Kind() == "http" {
		return exitFailed // Exit is an HTTP status here
	}
	return *r.Exit
}

// outcomeText describes the end of a run.
func outcomeText(r *api.RunView) string {
	text := fmt.Sprintf("run %s %s", r.Ref, outcomeWord(r.State))
	switch {
	case r.Reason != "": // the reason contains the exit code
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
