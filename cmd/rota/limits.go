package main

import (
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newLimitsCommand(c *cli) *cobra.Command {
	return newNamedListCommand(c, &cobra.Command{
		Use:   "limits [NAME...]",
		Short: "List limits, and how much of each is taken",
		Long: `List limits. HELD is how many runs are with workers and hold the limit. CONCURRENT is how many may hold it at a time. RATE
is how many attempts may begin in a time.`,
		Example:           "  rota limits\n  rota limits --watch",
		ValidArgsFunction: c.completeLimits,
	}, namedList[api.LimitView]{
		kind: "limit", gone: "deleted", empty: "no limits: job files define them, see `rota config schema limits`",
		read: (*client.Client).Limits,
		name: func(l *api.LimitView) string { return l.Name },
		list: func(limits []api.LimitView) any { return api.LimitList{Limits: limits} },
		rows: limitRows,
	})
}

// limitRows returns the table of limits with its header.
func limitRows(_ *page, limits []api.LimitView) [][]any {
	rows := [][]any{{"NAME", tinted{"HELD", plain}, "CONCURRENT", "RATE", "ORIGIN"}}
	for i := range limits {
		l := &limits[i]
		held, concurrent, rate := tinted{strconv.Itoa(l.Held), plain}, "any", "any"
		if l.Spec.Concurrent > 0 {
			concurrent = strconv.Itoa(l.Spec.Concurrent)
			if l.Held >= l.Spec.Concurrent {
				held.color = yellow
			}
		}
		if l.Spec.Rate != (job.Rate{}) {
			rate = l.Spec.Rate.String()
		}
		rows = append(rows, []any{l.Name, held, concurrent, rate, originText(l.Origin)})
	}
	return rows
}
