package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newCancelCommand(c *cli) *cobra.Command {
	var (
		wait   waitFlags
		reason string
		many   bulkFlags
	)
	cmd := &cobra.Command{
		Use:   "cancel RUN | JOB | [JOB] --state STATE | -l SELECTOR",
		Short: "Cancel runs",
		Long: `Cancel a run. A job stands for its latest run that has not ended. A pending run ends at once. A started run ends after
its worker has stopped it. With --wait, wait for that, and fail if the run ended in another state before.

With -l, --state or --since, cancel all such runs: of one job if it is given, of all jobs otherwise. The command lists the
runs and asks. With --wait, it then waits for the end of all of them; --timeout limits the whole wait.`,
		Example: `  rota cancel nightly-backup/2026-01-31T02:30:00Z --wait
  rota cancel charge --state pending --yes
  rota cancel -l team=billing --state running --yes --wait --timeout 1m`,
		Args:              many.args(takesRun),
		ValidArgsFunction: c.completeRuns(job.Pending, job.Armed, job.Running),
		RunE: many.either(c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			return c.cancelAll(ctx, cl, &many, args, reason, wait)
		}), c.changing(c.withRun(active(), func(ctx context.Context, cl *client.Client, args []string) error {
			r, err := cancelRun(ctx, cl, args[0], reason)
			if err != nil {
				return err
			}
			if wait.wait {
				ctx, cancel := wait.limit(ctx)
				defer cancel()
				if r, err = c.await(ctx, cl, args[0], false); err != nil {
					return err
				}
			}
			err = c.print(r, func(p *page) {
				if r.State.Terminal() {
					p.line("run %s %s", r.Ref, outcomeWord(r.State))
				} else {
					p.line("run %s is being canceled", r.Ref)
				}
			})
			if err == nil && wait.wait && r.State != job.Canceled {
				return fmt.Errorf("run %s ended before it was canceled: it is %s", r.Ref, r.State)
			}
			return err
		}))),
	}
	many.addRuns(cmd, []job.State{job.Pending, job.Armed, job.Running})
	wait.addWait(cmd, "wait until the run has ended")
	cmd.Flags().StringVar(&reason, "reason", "", "text that is shown with the run")
	return cmd
}

// cancelAll cancels the selected runs.
func (c *cli) cancelAll(
	ctx context.Context, cl *client.Client, many *bulkFlags, args []string, reason string, wait waitFlags,
) error {
	f, err := many.filter(c, args)
	if err != nil {
		return err
	}
	runs, err := allRuns(ctx, cl, f)
	if err != nil {
		return err
	}
	b := &bulk{verb: "cancel", done: "canceled", noun: "run", of: many.of(args), targets: toCancel(runs, wait.wait)}
	return c.bulkRuns(ctx, cl, b, many.yes, wait, job.Canceled, func(ctx context.Context, name string) (api.RunView, error) {
		return cancelRun(ctx, cl, name, reason)
	})
}

// toCancel returns the active runs that nobody has canceled yet, or all active ones if their end is waited for. A run on every
// worker stands for its copies: canceled one by one, they would make it fail.
func toCancel(runs []api.RunView, waits bool) (list []target) {
	known := make(map[string]bool)
	for i := range runs {
		r := &runs[i]
		name := r.Ref
		if !isWhole(r) {
			name = r.Job + "/" + r.CopyOf()
		}
		if (waits || r.Cancel == nil) && !r.State.Terminal() && !known[name] {
			known[name] = true
			list = append(list, target{name, string(r.State)})
		}
	}
	return list
}

// cancelRun cancels a run. If the run has already ended, the error names its final state.
func cancelRun(ctx context.Context, cl *client.Client, name, reason string) (api.RunView, error) {
	r, err := cl.Cancel(ctx, name, reason)
	if !errors.Is(err, job.ErrConflict) {
		return r, err
	}
	if r, readErr := cl.Run(ctx, name); readErr == nil && r.State.Terminal() {
		return r, &codedError{code: exitConflict, err: fmt.Errorf("run %s has ended already: it is %s", r.Ref, r.State)}
	}
	return r, err
}
