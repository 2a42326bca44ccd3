package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func newApproveCommand(c *cli) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "approve RUN | JOB",
		Short: "Approve a run that waits for a person",
		Long: `Approve a run of a job with approve. It starts as soon as nothing else is in its way. A job stands for its latest run
that waits for an approval.`,
		Example:           "  rota approve nightly-backup/2026-01-31T02:30:00Z",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns(job.Pending),
		RunE: c.changing(c.withRun(asked(), func(ctx context.Context, cl *client.Client, args []string) error {
			return c.decide(ctx, cl, args[0], reason, cl.Approve)
		})),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "text that is shown with the run")
	return cmd
}

func newRejectCommand(c *cli) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reject RUN | JOB --reason TEXT",
		Short: "Reject a run that waits for a person",
		Long: `Reject a run of a job with approve. The run is skipped, with the reason. A job stands for its latest run that waits for an
approval.`,
		Example:           "  rota reject nightly-backup/2026-01-31T02:30:00Z --reason 'the month is not closed'",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns(job.Pending),
		RunE: c.changing(c.withRun(asked(), func(ctx context.Context, cl *client.Client, args []string) error {
			if reason == "" {
				return usagef("--reason is missing: say why, for the person who asks")
			}
			return c.decide(ctx, cl, args[0], reason, cl.Reject)
		})),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; it becomes the reason of the run")
	return cmd
}

// decide approves or rejects a run with do. A repeated request changes nothing, and the output says so.
func (c *cli) decide(
	ctx context.Context, cl *client.Client, run, reason string,
	do func(ctx context.Context, run, reason string) (api.RunView, error),
) error {
	before, err := cl.Run(ctx, run)
	if err != nil {
		return err
	}
	r, err := do(ctx, run, reason)
	if err != nil {
		return err
	}
	return c.print(r, func(p *page) { p.line("run %s %s", r.Ref, verdictText(p, before.Approval, r.Approval)) })
}

// verdictText says how a run was decided. before is its approval before the request.
func verdictText(p *page, before, after *job.Approval) string {
	text := "rejected"
	if after != nil && after.Approved {
		text = "approved"
	}
	if before != nil && !before.At.IsZero() {
		text = "was " + text + " already: " + p.moment(before.At) + " by " + printable(before.Who)
	}
	return text
}

func asked() choice {
	return choice{states: []job.State{job.Pending}, suits: func(r *api.RunView) bool { return r.AwaitsApproval() }}
}

// approvalText says who decided about a run, and when; or who may.
func approvalText(p *page, r *api.RunView) string {
	a := r.Approval
	switch {
	case a == nil || a.At.IsZero():
		return ""
	case a.Approved:
		return because("approved "+p.moment(a.At)+" by "+a.Who, a.Reason)
	}
	return because("rejected "+p.moment(a.At)+" by "+a.Who, a.Reason)
}

func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
