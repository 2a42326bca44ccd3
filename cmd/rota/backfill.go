package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newBackfillCommand(c *cli) *cobra.Command {
	var (
		from, to, order string
		concurrency     int
		dryRun, stop    bool
	)
	cmd := &cobra.Command{
		Use:   "backfill [JOB]",
		Short: "Run past slots of a job that had no run",
		Long: `Run past slots of a job that had no run. These are slots before the job was created, and slots that were skipped as a
range while nobody dispatched or during a pause. A slot that has or had a run does not run again. Use rota retry for it.
The steps behind the job run too, for the same slots. A time without a zone is in the job's zone.

The leader creates the runs, a few at a time, and goes on after any crash. Slots of the schedule go first. Without --from,
show the progress of the job's backfill, or of all backfills.`,
		Example:           "  rota backfill report --from 2026-01-01T00:00:00Z --to 2026-01-31T23:59:59Z --concurrency 4 --dry-run",
		Args:              takes("[JOB]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			c.altering = stop || from != "" && !dryRun
			switch {
			case len(args) == 0 && (stop || from != "" || to != ""):
				return usagef("backfill: JOB is missing")
			case len(args) == 0:
				all, err := cl.Backfills(ctx)
				return answered(c, writeBackfills, api.BackfillList{Backfills: all}, err)
			case concurrency < 1: // the API takes an absent number for 1
				return usagef("backfill: --concurrency must be at least 1")
			case !slices.Contains(backfillOrders, order):
				return usagef("--order %q: use %s", order, strings.Join(backfillOrders, " or "))
			case stop && from != "", (from == "") != (to == ""):
				return usagef("backfill: give --from and --to, or --stop, or none of them")
			case stop:
				v, err := cl.StopBackfill(ctx, args[0])
				return answered(c, writeBackfill, v, err)
			case from == "":
				v, err := cl.Backfill(ctx, args[0])
				if errors.Is(err, job.ErrNotFound) {
					if _, missing := cl.Job(ctx, args[0]); missing == nil {
						return &codedError{exitNotFound, "start one with --from and --to", err}
					}
				}
				return answered(c, writeBackfill, v, err)
			}
			if _, _, err := c.backfillRange(from, to, time.UTC); err != nil {
				return err // a mistake needs no server
			}
			j, err := cl.Job(ctx, args[0])
			if err != nil {
				return err
			}
			zone := time.UTC
			if j.Spec != nil {
				if zone, err = loadZone(j.Spec.Timezone); err != nil {
					return err
				}
			}
			r := api.BackfillRequest{Order: job.BackfillOrder(order), Concurrency: concurrency, DryRun: dryRun}
			if r.From, r.To, err = c.backfillRange(from, to, zone); err != nil {
				return err
			}
			v, err := cl.StartBackfill(ctx, args[0], r)
			if dryRun {
				return answered(c, writeDryRun, v, err)
			}
			return answered(c, writeBackfill, v, err)
		}),
	}
	flags := cmd.Flags()
	flags.Var(&givenFlag{&from, "a time"}, "from", "first time of the range, included")
	flags.Var(&givenFlag{&to, "a time"}, "to", "last time of the range, included")
	flags.StringVar(&order, "order", "asc", "asc: the oldest slot first; desc: the newest slot first")
	flags.IntVar(&concurrency, "concurrency", 1, "how many slots run at a time, with their steps")
	flags.BoolVar(&dryRun, "dry-run", false, "show what would run, and change nothing")
	flags.BoolVar(&stop, "stop", false, "stop the job's backfill; its runs go on")
	completeFlag(cmd, "order", backfillOrders)
	return cmd
}

var backfillOrders = []string{string(job.OldestFirst), string(job.NewestFirst)}

// backfillRange reads --from and --to.
func (c *cli) backfillRange(from, to string, zone *time.Location) (first, last time.Time, err error) {
	if first, err = c.backfillTime("from", from, zone); err != nil {
		return first, last, err
	}
	last, err = c.backfillTime("to", to, zone)
	return first, last, err
}

func (c *cli) backfillTime(flag, text string, zone *time.Location) (time.Time, error) {
	t, err := parseInstant(text, c.now(), zone)
	if err != nil {
		return t, usageError{fmt.Sprintf("--%s %q is not a time", flag, text), "write it as 2026-01-31T02:30:00Z"}
	}
	return t.UTC(), nil
}

func writeDryRun(p *page, v *api.BackfillView) {
	p.line("%s would run, of %s between %s and %s",
		counted(v.Total, "slot"), counted(v.Slots, "slot"), p.moment(v.From), p.moment(v.To))
	if len(v.Steps) > 0 {
		p.line("each slot also runs the steps behind %s: %s", v.Job, strings.Join(v.Steps, ", "))
	}
	if v.Recorded > 0 {
		p.line("do not run, because they have a run already: %s", counted(v.Recorded, "slot"))
	}
	if v.Open > 0 {
		p.line("do not run, because the schedule has not decided them yet: %s", counted(v.Open, "slot"))
	}
	if v.Unknown > 0 {
		p.line("do not run, because nobody knows whether they ran: %s", counted(v.Unknown, "slot"))
	}
	for _, slot := range v.First {
		p.line("  %s", p.moment(slot))
	}
	if more := v.Total - len(v.First); more > 0 && len(v.First) > 0 {
		p.line("  and so on")
	}
}

func writeBackfill(p *page, v *api.BackfillView) {
	p.facts(
		"Backfill of", v.Job,
		"State", string(v.State),
		"Reason", v.Reason,
		"Range", fmt.Sprintf("%s to %s, %s", p.moment(v.From), p.moment(v.To), v.Order),
		"Slots", fmt.Sprintf("%d of %d: %d got a run, %d had a record", v.Started+v.Passed, v.Total, v.Started, v.Passed),
		"Steps", strings.Join(v.Steps, ", "),
		"Last slot", p.moment(v.Position),
		"Active", fmt.Sprintf("%d of at most %d", v.Active, v.Concurrency),
		"Failed", fmt.Sprintf("%d in history", v.Failed),
		"Ordered", fmt.Sprintf("%s by %s", p.moment(v.Created), orDash(v.By)),
		"Finished", p.moment(v.Finished),
	)
}

func writeBackfills(p *page, l *api.BackfillList) {
	if len(l.Backfills) == 0 {
		p.line("no backfills")
		return
	}
	rows := [][]any{{"JOB", "STATE", "FROM", "TO", "SLOTS", "RUNS", "ACTIVE", "BY"}}
	for i := range l.Backfills {
		v := &l.Backfills[i]
		slots := fmt.Sprintf("%d of %d", v.Started+v.Passed, v.Total)
		rows = append(rows, []any{v.Job, string(v.State), p.when(v.From), p.when(v.To), slots, v.Started, v.Active, v.By})
	}
	p.table(rows)
}
