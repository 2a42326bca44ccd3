package main

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newPauseCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:   "pause JOB | -l SELECTOR | --since TIME | --all",
		Short: "Stop dispatching jobs",
		Long: `Stop dispatching one job, the jobs with some labels, the jobs that were changed lately, or all jobs. Slots during the pause
are skipped. Started runs continue.`,
		Example: "  rota pause charge --reason 'billing is down'",
	}, switching{
		done: "paused", doneAll: "all jobs paused", since: "jobs that were defined or changed since a time, or since a span ago (1h, 7d)",
		at:  func(v *api.JobView) (time.Time, bool) { return v.Updated, v.Paused == nil },
		one: (*client.Client).PauseJob, all: (*client.Client).PauseAll,
	})
}

func newResumeCommand(c *cli) *cobra.Command {
	return newSwitchCommand(c, &cobra.Command{
		Use:     "resume JOB | -l SELECTOR | --since TIME | --all",
		Short:   "Dispatch paused jobs again",
		Example: "  rota resume charge",
	}, switching{
		done: "resumed", doneAll: "all jobs resumed, except any with a pause of its own",
		since: "jobs that were paused since a time, or since a span ago (1h, 7d)",
		at: func(v *api.JobView) (at time.Time, applies bool) {
			if v.Paused != nil {
				at = v.Paused.At
			}
			return at, v.Paused != nil
		},
		one: (*client.Client).ResumeJob, all: (*client.Client).ResumeAll,
	})
}

// switching is what pause and resume do.
type switching struct {
	done    string                               // "paused"
	doneAll string                               // what --all prints
	since   string                               // the usage of --since
	at      func(*api.JobView) (time.Time, bool) // the time that --since looks at, and whether the job is in the other state
	one     func(*client.Client, context.Context, string, string) (api.JobView, error)
	all     func(*client.Client, context.Context, string) (api.GateView, error)
}

// newSwitchCommand completes the command pause or resume.
func newSwitchCommand(c *cli, cmd *cobra.Command, s switching) *cobra.Command {
	var every bool
	var reason string
	var many bulkFlags
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case every && (len(args) > 0 || many.many(cmd)):
			return usagef("%s: give either a job or --all", cmd.Name())
		case len(args) > 0 && many.since != "":
			return usagef("%s: give either a job or --since", cmd.Name())
		case every:
			return nil
		}
		return many.args(takes("JOB"))(cmd, args)
	}
	cmd.ValidArgsFunction = c.completeJobs
	cmd.RunE = c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
		if every {
			g, err := s.all(cl, ctx, reason)
			if err != nil {
				return err
			}
			return c.print(g, func(p *page) { p.line("%s", s.doneAll) })
		}
		if many.many(cmd) {
			since, err := c.sinceInstant(many.since)
			if err != nil {
				return err
			}
			jobs, err := cl.SelectJobs(ctx, many.selector)
			if err != nil {
				return err
			}
			b := &bulk{verb: cmd.Name(), done: s.done, noun: "job", of: many.of(args)}
			for i := range jobs {
				if at, applies := s.at(&jobs[i]); applies && !at.Before(since) {
					b.targets = append(b.targets, target{jobs[i].Name, labelsText(jobs[i].Spec.Labels)})
				}
			}
			b.do = func(ctx context.Context, name string) error {
				_, err := s.one(cl, ctx, name, reason)
				return err
			}
			return c.bulk(ctx, b, many.yes)
		}
		v, err := s.one(cl, ctx, args[0], reason)
		if err != nil {
			return err
		}
		if err := c.print(v, func(p *page) { p.line("job %s %s", v.Job.Name, s.done) }); err != nil {
			return err
		}
		c.noteGate(ctx, cl)
		return nil
	})
	many.add(cmd)
	addSince(cmd, &many.since, s.since)
	many.selects = append(many.selects, "since")
	cmd.Flags().BoolVar(&every, "all", false, "all jobs of the cluster")
	cmd.Flags().StringVar(&reason, "reason", "", "text that is shown with the pause")
	return cmd
}

const allPaused = "all jobs are paused: slots that pass meanwhile are skipped"

// noteGate tells a person that no job runs now, if all jobs are paused.
func (c *cli) noteGate(ctx context.Context, cl *client.Client) {
	if !c.forPeople() {
		return
	}
	if v, err := cl.Cluster(ctx); err == nil && v.Paused != nil {
		c.printNote(allPaused)
	}
}
