package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newRetryCommand(c *cli) *cobra.Command {
	var wait waitFlags
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Repeat a run that has ended",
		Long: `Create a new run that repeats an ended one, and print its name. The old run does not change. With --wait, wait for
the end and exit with the job's code.`,
		Example:           "  rota retry nightly-backup/2026-01-31T02:30:00Z",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns,
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			r, err := cl.Retry(ctx, args[0])
			if err != nil {
				return err
			}
			return c.submitted(ctx, cl, r, wait)
		}),
	}
	wait.add(cmd)
	return cmd
}
