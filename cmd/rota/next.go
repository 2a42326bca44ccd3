package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"github.com/spf13/cobra"
)

// nextFlags are the flags of next.
type nextFlags struct {
	file     string
	timezone string
	from     string
	every    time.Duration
	gap      string
	fold     string
	selector string
	n        int
}

func newNextCommand(c *cli) *cobra.Command {
	var f nextFlags
	cmd := &cobra.Command{
		Use:   `next [JOB|"EXPR"]`,
		Short: "Show the next slots of all jobs, of a job or of an expression",
		Long: `List the next slots. Without an argument, list those of all jobs in the order of time. rota computes the slots of an
expression, or of jobs in a file (--file), on this machine. For the name of a job it asks the cluster. It warns of clock changes
that move, drop or double a slot, and of an expression that never fires.`,
		Example: `  rota next -l team=billing -n 20
  rota next "30 2 * * *" --timezone Europe/Berlin --from 2026-03-28 -n 3
  rota next --every 90s
  rota next nightly-backup`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Sprintf("%s: unexpected argument %q", cmd.Name(), args[1]), "put an expression in quotes"}
			}
			if f.selector != "" && (len(args) > 0 || f.every != 0) {
				return usagef("%s: a selector is for many jobs; give either it, a job or an expression", cmd.Name())
			}
			return nil
		},
		ValidArgsFunction: c.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.n < 1 || f.n > mostNext {
				return usagef("-n %d: use 1 to %d", f.n, mostNext)
			}
			arg := ""
			if len(args) > 0 {
				arg = args[0]
			} else if !cmd.Flags().Changed("every") {
				return c.nextOfAll(cmd.Context(), f)
			}
			view, zone, err := c.next(cmd.Context(), arg, f)
			if err != nil {
				return err
			}
			return c.print(view, func(p *page) { writeNext(p, view, zone) })
		},
	}
	flags := cmd.Flags()
	addSelector(cmd, &f.selector)
	flags.StringVar(&f.file, "file", "", "read the jobs from this job file, without a cluster")
	flags.StringVar(&f.timezone, "timezone", "", "IANA time zone of the expression (default UTC)")
	flags.StringVar(&f.from, "from", "", "slots strictly after this time (default now)")
	addSpan(flags, &f.every, "every", 0, "fixed interval, instead of an expression")
	flags.StringVar(&f.gap, "gap", "", "action for a time that the clock jumps over: run or skip (default run)")
	flags.StringVar(&f.fold, "fold", "", "action for a time that the clock shows twice: first, last or both (default first)")
	flags.IntVarP(&f.n, "number", "n", 5, "number of slots")
	return cmd
}

// mostNext is the largest number of slots that next shows.
const mostNext = 1000

// next returns the slots and the zone in which to show them.
func (c *cli) next(ctx context.Context, arg string, f nextFlags) (api.NextView, *time.Location, error) {
	isExpr := isExpression(arg)
	if own := f.timezone != "" || f.gap != "" || f.fold != "" || f.every != 0; own && arg != "" && !isExpr {
		return api.NextView{}, nil, usagef("--timezone, --gap, --fold and --every belong to an expression; job %s has its own", arg)
	}
	switch {
	case f.every != 0 && arg != "":
		return api.NextView{}, nil, usagef("give either an expression or --every")
	case f.every == 0 && strings.TrimSpace(arg) == "":
		return api.NextView{}, nil, usageError{"the expression is empty", `write five fields, such as "30 2 * * *"`}
	case f.file != "" && (isExpr || arg == ""):
		return api.NextView{}, nil, usagef("--file needs the name of a job in it")
	case f.file != "":
		return c.nextOfFile(arg, f)
	case isExpr || arg == "":
		spec := schedule.Spec{Every: f.every, Timezone: f.timezone, Gap: schedule.Gap(f.gap), Fold: schedule.Fold(f.fold)}
		if arg != "" {
			spec.Cron = []string{arg}
		}
		s, err := schedule.Parse(spec)
		why := onlyReason(err)
		switch {
		case why != nil && why.NeverFires(): // here only the schedule of a job is rejected; an expression without slots is accepted
			return c.slots(nil, why.Msg, f.timezone, f)
		case err != nil:
			return api.NextView{}, nil, wrongFlags(err, f.timezone)
		}
		view, zone, err := c.slots(s, "", f.timezone, f)
		view.Notes = append(view.Notes, schedule.Pitfalls(arg)...)
		return view, zone, err
	}
	return c.nextOfJob(ctx, arg, f)
}

// isExpression reports whether arg is an expression: the name of a job has none of these characters.
func isExpression(arg string) bool {
	return strings.ContainsAny(arg, " \t") || strings.HasPrefix(arg, "@") || strings.ContainsAny(arg, "*/,?#")
}

func (c *cli) nextOfFile(name string, f nextFlags) (api.NextView, *time.Location, error) {
	set, err := c.loadJobs([]string{f.file})
	if err != nil {
		return api.NextView{}, nil, err
	}
	d, ok := set.Jobs[name]
	if !ok {
		return api.NextView{}, nil, &codedError{code: exitNotFound, err: fmt.Errorf("there is no job %q in %s", name, f.file)}
	}
	s, err := policy.When(name, &d.Spec)
	if err != nil {
		return api.NextView{}, nil, err
	}
	return c.slots(s, unscheduled, d.Spec.Timezone, f)
}

// slots computes the answer on this machine, without a server. If s is nil, the answer has no slots, and why is the reason.
func (c *cli) slots(s *schedule.Schedule, why, timezone string, f nextFlags) (api.NextView, *time.Location, error) {
	const notes = 10
	view := api.NextView{Slots: []time.Time{}, Notes: []string{}}
	zone, err := loadZone(timezone)
	if err != nil {
		return view, nil, err
	}
	from, err := c.fromFlag(f.from, zone)
	if err != nil {
		return view, nil, err
	}
	if s == nil {
		view.Notes = append(view.Notes, why)
		return view, zone, nil
	}
	for slot, ok := s.Next(from); ok && len(view.Slots) < f.n; slot, ok = s.Next(slot) {
		view.Slots = append(view.Slots, slot)
	}
	until := from
	if len(view.Slots) == 0 {
		view.Notes = append(view.Notes, "has no slot after "+stamp(from))
	} else {
		until = view.Slots[len(view.Slots)-1]
	}
	view.Notes = append(view.Notes, s.Notes(from, until, notes)...)
	return view, zone, nil
}

const unscheduled = "has no schedule: it runs only on request"

func (c *cli) nextOfJob(ctx context.Context, name string, f nextFlags) (api.NextView, *time.Location, error) {
	if err := job.CheckName(name); err != nil {
		return api.NextView{}, nil, usageError{err.Error(), "put an expression in quotes"}
	}
	cl, err := c.client(readTimeout)
	if err != nil {
		return api.NextView{}, nil, err
	}
	defer cl.Close()
	j, err := cl.Job(ctx, name)
	if err != nil {
		return api.NextView{}, nil, err
	}
	zone, err := time.LoadLocation(j.Spec.Timezone)
	if err != nil {
		zone = time.UTC // only the display needs the zone; this machine may not know every zone of the cluster
	}
	from, err := c.fromFlag(f.from, zone)
	if err != nil {
		return api.NextView{}, nil, err
	}
	view, err := cl.Next(ctx, name, from, f.n)
	if view.Slots == nil {
		view.Slots = []time.Time{}
	}
	if view.Notes == nil {
		view.Notes = []string{}
	}
	return view, zone, err
}

func (c *cli) fromFlag(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	return parseInstant(text, c.now(), zone)
}

func writeNext(p *page, view api.NextView, zone *time.Location) {
	if len(view.Slots) > 0 {
		rows := [][]any{{"SLOT", "UTC", "IN"}}
		for _, slot := range view.Slots {
			rows = append(rows, slotRow(p, slot, zone))
		}
		p.table(rows)
	}
	for _, n := range view.Notes {
		p.line("note: %s", n)
	}
}

func slotRow(p *page, slot time.Time, zone *time.Location) []any {
	return []any{slot.In(zone).Format("Mon 2006-01-02 15:04:05 MST"), job.SlotID(slot), relative(slot, p.now)}
}
