package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newRunInfoCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:               "run-info RUN | JOB",
		Short:             "Show one run with its attempts and reasons; of a job, the latest",
		Example:           "  rota run-info nightly-backup/2026-01-31T02:30:00Z\n  rota run-info nightly-backup",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns(),
		RunE: c.reading(c.withRun(begun(), show(c, func(ctx context.Context, cl *client.Client, args []string) (api.RunView, error) {
			return cl.Run(ctx, args[0])
		}, writeRun))),
	}
}

// takesRun checks that the only argument has the form of a run's name, or is the name of a job.
func takesRun(cmd *cobra.Command, args []string) error {
	if err := takes("RUN")(cmd, args); err != nil {
		return err
	}
	if job.CheckName(args[0]) == nil {
		return nil // the latest run of the job
	}
	if _, _, err := job.ParseRunName(args[0]); err != nil {
		return usageError{err.Error(), "`rota runs` lists the names of runs"}
	}
	return nil
}

func writeRun(p *page, r *api.RunView) {
	started := startedAt(&r.Run)
	p.facts(
		"Run", r.Ref,
		"State", string(r.State),
		"Reason", r.Reason,
		"Kind", string(r.Kind)+lateness(r),
		"Copy of", copyOf(&r.Run),
		"Retry of", r.RetryOf,
		"Follows", followsText(&r.Run),
		"Requested by", r.By,
		"Idempotency key", r.Key,
		"Command", commandText(r.Spec),
		"Payload", string(r.Payload),
		"Parameters", r.ParamsText(),
		"Slot", p.moment(r.Slot),
		"Due", p.moment(r.KnownDue()),
		"Started", p.moment(started),
		"Finished", p.moment(r.Finished),
		"Took", lasted(started, r.Finished, p.now),
		"Approval", approvalText(p, r),
		"Cancel", cancelText(p, r.Cancel),
		"Written", fmt.Sprintf("by %s, revision %d", writer(r.Term), r.Revision),
	)
	if r.Attempt > 0 {
		p.line("")
		p.table(attemptRows(p, r))
	}
	if len(r.CopyRuns) > 0 {
		p.line("")
		p.table(copyRows(p, r))
	}
	if len(r.Outputs) > 0 {
		p.line("")
		p.table(outputRows(p, r.Outputs))
	}
	if r.Output != "" {
		lines := p.lastLines(r.Output)
		switch whole := len(r.Output) < job.OutputTail && len(lines) == strings.Count(strings.TrimSuffix(r.Output, "\n"), "\n")+1; {
		case whole && r.Attempt <= 1:
			p.line("\nOutput:")
		case whole:
			p.line("\nOutput of the last attempt (`rota logs %s --attempt 1` prints that of the first):", r.Ref)
		default:
			p.line("\nEnd of the output (`rota logs %s` prints all of it):", r.Ref)
		}
		for _, line := range lines {
			p.line("  %s", printable(line))
		}
	}
}

// lastLines returns the last lines of an output. A wide page shows all lines that the record has.
func (p *page) lastLines(output string) []string {
	const most = 20
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	if !p.wide && len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return lines
}

// writer returns the author of a record: the leader of a term, or the request of a client if term is 0.
func writer(term int64) string {
	if term == 0 {
		return "request"
	}
	return fmt.Sprintf("term %d", term)
}

// attemptRows returns table rows of the ended attempts and of the present one.
func attemptRows(p *page, r *api.RunView) [][]any {
	rows := [][]any{{"ATTEMPT", tinted{"STATE", plain}, "WORKER", "TOKEN", "STARTED", "TOOK", "EXIT", "REASON"}}
	for _, a := range r.Attempts {
		rows = append(rows, []any{
			a.Number, tinted{string(a.State), colorOf(a.State)}, a.Worker, a.Token, p.when(a.Started),
			lasted(a.Started, a.Finished, p.now), exitText(a.Exit), p.shortened(a.Reason),
		})
	}
	if r.State == job.Armed || r.State == job.Running {
		rows = append(rows, []any{
			r.Attempt, tinted{string(r.State), colorOf(r.State)}, r.Worker, r.Token, p.when(r.Started),
			lasted(r.Started, r.Finished, p.now), "", "",
		})
	}
	return rows
}

// copyOf returns the run of which r is a copy, and its worker; "" if r is none.
func copyOf(r *job.Run) string {
	if of := r.CopyOf(); of != "" {
		return r.Job + "/" + of + " on worker " + r.On
	}
	return ""
}

// copyRows returns table rows of the copies of a run on every worker.
func copyRows(p *page, r *api.RunView) [][]any {
	rows := [][]any{{"WORKER", tinted{"STATE", plain}, "COPY", "REASON"}}
	for _, c := range r.CopyRuns {
		rows = append(rows, []any{c.Worker, tinted{string(c.State), colorOf(c.State)}, c.Ref, p.shortened(c.Reason)})
	}
	return rows
}

func lateness(r *api.RunView) string {
	if r.Late {
		return ", late"
	}
	return ""
}

// commandText returns the command of an ad hoc run, "" for the run of a job.
func commandText(s *job.Spec) string {
	if s == nil {
		return ""
	}
	return cmp.Or(s.Shell, strings.Join(s.Command, " "))
}

func cancelText(p *page, c *job.Cancel) string {
	if c == nil {
		return ""
	}
	return pauseText(p, &job.Pause{At: c.At, By: c.By, Reason: c.Reason})
}
