package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newRetryCommand(c *cli) *cobra.Command {
	var wait waitFlags
	var many bulkFlags
	var resume bool
	cmd := &cobra.Command{
		Use:   "retry RUN | JOB | -l SELECTOR",
		Short: "Repeat runs that have ended",
		Long: `Create a new run that repeats an ended one, and print its name. A job stands for its latest run that has
ended. The old run does not change. With --wait, wait for the end and exit with the job's code.

With --resume, continue a workflow from a failed step. The step runs again, and so do the steps behind it that did not run
because of it, all under one new id. Steps that succeeded do not run again; their outputs are used.

With -l, repeat the failed runs of all jobs with some labels. Of a run on every worker, the failed copies are repeated. A run
that was repeated already is left out, so the same command can be given again after an interruption.`,
		Example:           "  rota retry nightly-backup/2026-01-31T02:30:00Z",
		Args:              many.args(takesRun),
		ValidArgsFunction: c.completeRuns,
		RunE: c.changing(c.withRun(ended, func(ctx context.Context, cl *client.Client, args []string) error {
			if many.selector != "" {
				return c.retryAll(ctx, cl, &many)
			}
			again := cl.Retry
			if resume {
				again = cl.Resume
			}
			r, err := again(ctx, args[0])
			if err != nil {
				return err
			}
			return c.submitted(ctx, cl, r, wait)
		})),
	}
	wait.add(cmd)
	cmd.Flags().BoolVar(&resume, "resume", false, "also run the steps again that did not run because of this run")
	many.addRuns(cmd, []job.State{job.Failed, job.TimedOut, job.Lost})
	return cmd
}

// retryAll repeats each selected run that has ended and was not repeated yet. The key of a repetition names the run, so two
// commands at the same time repeat it once.
func (c *cli) retryAll(ctx context.Context, cl *client.Client, many *bulkFlags) error {
	runs, all, err := many.runs(ctx, c, cl)
	if err != nil {
		return err
	}
	b := &bulk{verb: "retry", done: "retried", noun: "run", selector: many.selector, targets: toRepeat(runs, all)}
	b.do = func(ctx context.Context, name string) error {
		_, _, err := cl.RetryOnce(ctx, name, "retry of "+name)
		return err
	}
	return c.bulk(ctx, b, many.yes)
}

// toRepeat returns the runs that have ended and were not repeated yet, according to all runs. Of a run on every worker, only the
// copies are repeated: those that succeeded must not run again.
func toRepeat(runs, all []api.RunView) (list []target) {
	repeated := map[string]bool{}
	for i := range all {
		repeated[all[i].RetryOf] = true
	}
	for i := range runs {
		if r := &runs[i]; r.State.Terminal() && r.Copies == nil && !repeated[r.Ref] {
			list = append(list, target{r.Ref, string(r.State) + "  " + r.Reason})
		}
	}
	return list
}
