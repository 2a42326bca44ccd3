package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newPauseCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:     "pause JOB | --all",
		Short:   "Stop dispatching one job or all jobs",
		Long:    "Stop dispatching one job or all jobs. Slots during the pause are skipped. Started runs continue.",
		Example: "  rota pause charge --reason 'billing is down'",
	}, "paused", (*client.Client).PauseJob, (*client.Client).PauseAll)
}

func newResumeCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:     "resume JOB | --all",
		Short:   "Dispatch a paused job, or all jobs, again",
		Example: "  rota resume charge",
	}, "resumed", (*client.Client).ResumeJob, (*client.Client).ResumeAll)
}

// newSwitchCommand completes the command pause or resume. one changes one job, and all changes the whole cluster.
func newSwitchCommand(c *cli, cmd *cobra.Command, done string,
	one func(*client.Client, context.Context, string, string) (api.JobView, error),
	all func(*client.Client, context.Context, string) (api.GateView, error),
) *cobra.Command {
	var every bool
	var reason string
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case every && len(args) > 0:
			return usagef("%s: give either a job or --all", cmd.Name())
		case every:
			return nil
		}
		return takes("JOB")(cmd, args)
	}
	cmd.ValidArgsFunction = c.completeJobs
	cmd.RunE = c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
		if every {
			g, err := all(cl, ctx, reason)
			if err != nil {
				return err
			}
			return c.print(g, func(p *page) { p.line("all jobs %s", done) })
		}
		v, err := one(cl, ctx, args[0], reason)
		if err != nil {
			return err
		}
		return c.print(v, func(p *page) { p.line("job %s %s", v.Job.Name, done) })
	})
	cmd.Flags().BoolVar(&every, "all", false, "all jobs of the cluster")
	cmd.Flags().StringVar(&reason, "reason", "", "text that is shown with the pause")
	return cmd
}
