package main

import (
	"context"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newRetryCommand(c *cli) *cobra.Command {
	var wait waitFlags
	var many bulkFlags
	cmd := &cobra.Command{
		Use:   "retry RUN | JOB | [JOB] --state STATE | -l SELECTOR",
		Short: "Repeat runs that have ended",
		Long: `Create a new run that repeats an ended one, and print its name. A job stands for its latest run that has
ended. The old run does not change. With --wait, wait for the end and exit with the job's code.

With --resume, continue a workflow from a failed step. The step runs again, and so do the steps behind it that did not run
because of it, all under one new id. Steps that succeeded do not run again; their outputs are used. --wait waits for all of them.

With -l, --state or --since, repeat all such runs that failed: of one job if it is given, of all jobs otherwise. The command
lists the runs and asks. Of a run on every worker, the failed copies are repeated. A run that was repeated already is left out,
so the same command can be given again after an interruption. With --wait, wait for the end of all new runs; --timeout limits
the whole wait. The exit code is 1 if one of them did not succeed.`,
		Example: `  rota retry nightly-backup/2026-01-31T02:30:00Z
  rota retry charge --since 24h --yes --wait
  rota retry -l team=billing --state lost --yes`,
		Args:              many.args(takesRun),
		ValidArgsFunction: c.completeRuns(),
		RunE: many.either(c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			if wait.workflow || wait.logs {
				return usagef("retry: --resume and --logs are for one run")
			}
			return c.retryAll(ctx, cl, &many, args, wait)
		}), c.changing(c.withRun(ended(), func(ctx context.Context, cl *client.Client, args []string) error {
			again := cl.Retry
			if wait.workflow {
				again = cl.Resume
			}
			r, err := again(ctx, args[0])
			if err != nil {
				return err
			}
			return c.submitted(ctx, cl, r, wait)
		}))),
	}
	wait.add(cmd)
	cmd.Flags().BoolVar(&wait.workflow, "resume", false, "also run the steps again that did not run because of this run")
	many.addRuns(cmd, []job.State{job.Failed, job.TimedOut, job.Lost})
	return cmd
}

// retryAll repeats each selected run that has ended and was not repeated yet. The key of a repetition names the run, so two
// commands at the same time repeat it once.
func (c *cli) retryAll(ctx context.Context, cl *client.Client, many *bulkFlags, args []string, wait waitFlags) error {
	f, err := many.filter(c, args)
	if err != nil {
		return err
	}
	states := f.States
	f.States = nil // a repetition may have any state
	all, err := allRuns(ctx, cl, f)
	if err != nil {
		return err
	}
	b := &bulk{verb: "retry", done: "retried", noun: "run", of: many.of(args), targets: toRepeat(all, states)}
	return c.bulkRuns(ctx, cl, b, many.yes, wait, job.Succeeded, func(ctx context.Context, name string) (api.RunView, error) {
		r, _, err := cl.RetryOnce(ctx, name, "retry of "+name)
		return r, err
	})
}

// toRepeat returns the runs in one of the states that have ended and were not repeated yet. all has all runs, in any state. Of a
// run on every worker, only the copies are repeated: those that succeeded must not run again.
func toRepeat(all []api.RunView, states []job.State) (list []target) {
	repeated := map[string]bool{}
	for i := range all {
		repeated[all[i].RetryOf] = true
	}
	for i := range all {
		r := &all[i]
		again := repeated[r.Ref] || repeated[r.Job+"/"+r.CopyOf()]
		if slices.Contains(states, r.State) && r.State.Terminal() && r.Copies == nil && !again {
			list = append(list, target{r.Ref, string(r.State) + "  " + r.Reason})
		}
	}
	return list
}
