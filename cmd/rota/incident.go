package main

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/spf13/cobra"
)

func newIncidentCommand(c *cli) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "incident",
		Short: "Summarize the latest incident in sentences",
		Long: `Summarize the latest incident: which replica was lost and when, who took over, since when nobody led, what it did to
runs, and what is left to do. Events that are less than 30 s apart belong to one incident.

All times are UTC. The exit code is 3 if no incident is known.`,
		Example: "  rota incident\n  rota incident --at '2h ago'",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, _ []string) error {
			var when time.Time
			if at != "" {
				var err error
				if when, err = parseInstant(at, c.now(), time.Local); err != nil {
					return err
				}
			}
			v, err := cl.Incident(ctx, when)
			return answered(c, writeIncident, v, err)
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "the incident at this time, or the last one before it (default now)")
	return cmd
}

func writeIncident(p *page, v *timeline.Incident) {
	text := "Incident of " + stamp(v.From) + ", over after " + formatDuration(v.Until.Sub(v.From))
	if v.Until.IsZero() {
		text = "Incident since " + p.moment(v.From)
	}
	p.line("%s\n", text)
	for _, s := range v.Sentences {
		p.line("%s", printable(s))
	}
}
