package main

import "github.com/spf13/cobra"

func newRetryCommand(c *cli) *cobra.Command {
	var wait waitFlags
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Do again what a run did",
		Long: `Retry makes a new run that names the old one, and prints its name. What has ended stays as it is. With --wait it exits
with the job's code.`,
		Example:           "  rota retry nightly-backup/2026-01-31T02:30:00Z",
		Args:              takes("RUN"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runName(args[0])
			if err != nil {
				return err
			}
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			r, err := cl.Retry(cmd.Context(), name)
			if err != nil {
				return err
			}
			return c.submitted(cmd.Context(), cl, r, wait)
		},
	}
	wait.add(cmd)
	return cmd
}
