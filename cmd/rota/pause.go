package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newPauseCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:   "pause JOB | -l SELECTOR | --all",
		Short: "Stop dispatching jobs",
		Long: `Stop dispatching one job, the jobs with some labels, or all jobs. Slots during the pause are skipped. Started runs
continue.`,
		Example: "  rota pause charge --reason 'billing is down'",
	}, "paused", func(v *api.JobView) bool { return v.Paused == nil }, (*client.Client).PauseJob, (*client.Client).PauseAll)
}

func newResumeCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:     "resume JOB | -l SELECTOR | --all",
		Short:   "Dispatch paused jobs again",
		Example: "  rota resume charge",
	}, "resumed", func(v *api.JobView) bool { return v.Paused != nil }, (*client.Client).ResumeJob, (*client.Client).ResumeAll)
}

// newSwitchCommand completes the command pause or resume. applies reports whether a job is in the other state. one changes one
// job, and all changes the whole cluster.
func newSwitchCommand(c *cli, cmd *cobra.Command, done string, applies func(*api.JobView) bool,
	one func(*client.Client, context.Context, string, string) (api.JobView, error),
	all func(*client.Client, context.Context, string) (api.GateView, error),
) *cobra.Command {
	var every bool
	var reason string
	var many bulkFlags
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case every && (len(args) > 0 || many.selector != ""):
			return usagef("%s: give either a job or --all", cmd.Name())
		case every:
			return nil
		}
		return many.args(takes("JOB"))(cmd, args)
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
		if many.selector != "" {
			jobs, err := cl.SelectJobs(ctx, many.selector)
			if err != nil {
				return err
			}
			b := &bulk{verb: cmd.Name(), done: done, noun: "job", of: many.of(args)}
			for i := range jobs {
				if applies(&jobs[i]) {
					b.targets = append(b.targets, target{jobs[i].Name, labelsText(jobs[i].Spec.Labels)})
				}
			}
			b.do = func(ctx context.Context, name string) error {
				_, err := one(cl, ctx, name, reason)
				return err
			}
			return c.bulk(ctx, b, many.yes)
		}
		v, err := one(cl, ctx, args[0], reason)
		if err != nil {
			return err
		}
		return c.print(v, func(p *page) { p.line("job %s %s", v.Job.Name, done) })
	})
	many.add(cmd)
	cmd.Flags().BoolVar(&every, "all", false, "all jobs of the cluster")
	cmd.Flags().StringVar(&reason, "reason", "", "text that is shown with the pause")
	return cmd
}
