package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newExplainCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "explain RUN | JOB [TIME]",
		Short: "Explain why a slot ran, ran late, or did not run",
		Long: `Explain what happened at a past slot, or what will happen at a future one. A run stands for its slot, and a job
without a time for the slot of its latest run, or for now if no slot has run. A time without a zone is in the job's zone,
and one without a date is of today. "now" and "2h ago" work, too. For a deleted job, rota knows the runs and skipped slots
that history keeps, and a time without a zone is UTC.`,
		Example: `  rota explain nightly-backup "2026-11-21 02:30"
  rota explain nightly-backup 02:30
  rota explain nightly-backup/2026-01-31T02:30:00Z`,
		Args:              takes("JOB", "[TIME]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			if len(args) == 1 {
				return orKey(c.explainLatest(ctx, cl, args), args[0])
			}
			return c.explainTime(ctx, cl, args[0], args[1])
		}),
	}
}

// orKey adds a hint to the error about a job that does not exist, if its name is a key of job files, as for kubectl explain.
func orKey(err error, name string) error {
	path := name[strings.LastIndex(name, ".spec.")+1:]
	path = strings.TrimPrefix(path, "spec.")
	if _, _, ok := config.Describe(path); !ok || !errors.Is(err, job.ErrNotFound) {
		return err
	}
	return &codedError{code: exitNotFound, err: err, hint: "`rota config schema " + path + "` describes a key of job files"}
}

// slotted chooses the latest run whose name is its slot. The slot in the record of a run by hand is the time of its request.
func slotted() choice {
	return choice{suits: func(r *api.RunView) bool { return r.ID == job.SlotID(r.Slot) }}
}

// explainLatest explains the slot of a run. A job stands for its latest run that has a slot, or for now if it has no such run.
func (c *cli) explainLatest(ctx context.Context, cl *client.Client, args []string) error {
	if strings.Contains(args[0], "/") {
		return c.explainRun(ctx, cl, args)
	}
	name, err := latestRun(ctx, cl, args[0], slotted())
	_, id, _ := strings.Cut(name, "/")
	_, manual := time.Parse(time.RFC3339, id)
	switch {
	case errors.Is(err, job.ErrNotFound), err == nil && manual != nil:
		return c.explainTime(ctx, cl, args[0], "now")
	case err != nil:
		return err
	}
	c.printErr("run %s", name)
	return c.explainRun(ctx, cl, []string{name})
}

// explainRun explains the slot of the run that args names.
func (c *cli) explainRun(ctx context.Context, cl *client.Client, args []string) error {
	name, slot, _ := strings.Cut(args[0], "/")
	at, err := time.Parse(time.RFC3339, slot)
	if err != nil {
		return usageError{"run " + args[0] + " has no slot", "`rota run-info " + args[0] + "` shows what happened to it"}
	}
	return c.explainTime(ctx, cl, name, at.Format(time.RFC3339Nano))
}

// explainTime explains what happened, or will happen, at a time.
func (c *cli) explainTime(ctx context.Context, cl *client.Client, name, text string) error {
	v, err := c.explain(ctx, cl, name, text)
	return answered(c, writeExplanation, v, err)
}

func (c *cli) explain(ctx context.Context, cl *client.Client, name, text string) (v api.ExplainView, _ error) {
	if _, err := parseInstant(text, c.now(), time.UTC); err != nil {
		return v, err
	}
	zone := time.UTC
	j, missing := cl.Job(ctx, name)
	var answer *client.Error
	switch {
	case ctx.Err() != nil, errors.Is(missing, api.ErrUnavailable), errors.As(missing, &answer) && answer.Foreign:
		return v, missing
	case missing == nil:
		var err error
		if zone, err = loadZone(j.Spec.Timezone); err != nil {
			return v, err
		}
	}
	at, err := parseInstant(text, c.now(), zone)
	if err != nil {
		return v, err
	}
	v, err = cl.Explain(ctx, name, at)
	switch {
	case err != nil && missing != nil: // the history has no record of the slot either
		return v, missing
	case err == nil && missing != nil && c.forPeople():
		why := "does not exist any more"
		if !errors.Is(missing, job.ErrNotFound) {
			why = "cannot be read"
		}
		c.printErr("job %s %s; a time without a zone is UTC", name, why)
	}
	return v, err
}

func writeExplanation(p *page, v *api.ExplainView) {
	slot := ""
	if v.Slot != nil {
		slot = p.moment(*v.Slot)
	}
	p.facts(
		"Job", v.Job,
		"Asked", p.moment(v.Asked),
		"Slot", slot,
		"Verdict", v.Verdict,
		"Run", v.Ref,
		"State", string(v.State),
	)
	for _, line := range v.Text {
		p.line("  %s", printable(line))
	}
}
