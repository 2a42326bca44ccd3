package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newJobCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:               "job NAME",
		Short:             "Show one job with its definition and next slots",
		Example:           "  rota job nightly-backup",
		Args:              takes("NAME"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			v, err := cl.Job(ctx, args[0])
			if err != nil {
				return err
			}
			definition, err := config.Marshal(map[string]job.Spec{v.Job.Name: *v.Spec})
			if err != nil {
				return err
			}
			running, err := runningJobs(ctx, cl, args[0])
			if err != nil {
				return err
			}
			return c.print(v, func(p *page) { writeJob(p, &v, running[v.Job.Name], string(definition)) })
		}),
	}
}

func activeText(v *api.JobView) string {
	text := strings.Join(v.Active, ", ")
	if more := v.ActiveRuns - len(v.Active); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func writeJob(p *page, v *api.JobView, running bool, definition string) {
	state, _ := stateOf(v, running)
	last, next := "", ""
	if v.Last != nil {
		last = fmt.Sprintf("%s %s, %s", v.Last.Ref, v.Last.State, p.moment(v.Last.Finished))
	}
	if v.Next != nil && v.Paused == nil {
		next = p.moment(*v.Next)
	}
	p.facts(
		"Job", v.Job.Name,
		"Description", v.Spec.Description,
		"Labels", labelsText(v.Spec.Labels),
		"State", state,
		"Paused", pauseText(p, v.Paused),
		"Schedule", v.ScheduleText,
		"Next", next,
		"Last", last,
		"Active", activeText(v),
		"Origin", originText(v.Origin),
		"Updated", fmt.Sprintf("%s, generation %d, revision %d", p.moment(v.Updated)+byText(v.UpdatedBy), v.Generation, v.Revision),
		"Slots count since", fmt.Sprintf("%s, %s", p.moment(v.Since), v.SinceReason),
	)
	p.line("")
	p.out.WriteString(definition)
	if v.Spec.Scheduled() {
		slots := upcoming(v.Job.Name, v.Spec, p.now, 5)
		p.line("\nNext slots:")
		for _, slot := range slots {
			p.line("  %s", p.moment(slot))
		}
	}
}

// byText returns the end of a sentence that names a client; "" if the client is unknown.
func byText(by string) string {
	if by == "" {
		return ""
	}
	return " by " + by
}

func pauseText(p *page, pause *job.Pause) string {
	if pause == nil {
		return ""
	}
	return because(p.moment(pause.At)+byText(pause.By), pause.Reason)
}

// lasted formats the time between started and finished. If finished is zero, it uses now. It returns "" if started is zero.
func lasted(started, finished, now time.Time) string {
	switch {
	case started.IsZero():
		return ""
	case finished.IsZero():
		return formatDuration(now.Sub(started))
	}
	return formatDuration(finished.Sub(started))
}
