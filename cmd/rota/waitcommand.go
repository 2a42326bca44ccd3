package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api/client"
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
		ValidArgsFunction: c.completeRuns,
		RunE: c.reading(c.withRun(active, func(ctx context.Context, cl *client.Client, args []string) error {
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
