package main

import (
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newExplainCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "explain JOB TIME",
		Short: "Why a slot ran, ran late, or did not run",
		Long: `Explain tells what became of the slot at a time, or what will. A time without a zone is one of the job's own zone;
"now" and "2h ago" work too. Of a job that was deleted the runs and skipped slots that history keeps are known, and its times are read as UTC.`,
		Example:           `  rota explain nightly-backup "2026-11-21 02:30"`,
		Args:              takes("JOB", "TIME"),
		ValidArgsFunction: c.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if _, err := parseInstant(args[1], c.now(), time.UTC); err != nil {
				return err
			}
			cl, err := c.reader()
			if err != nil {
				return err
			}
			defer cl.Close()
			zone := time.UTC
			j, missing := cl.Job(cmd.Context(), name)
			var answer *client.Error
			switch {
			case cmd.Context().Err() != nil, errors.Is(missing, api.ErrUnavailable), errors.As(missing, &answer) && answer.Foreign:
				return missing
			case missing == nil:
				if zone, err = loadZone(j.Spec.Timezone); err != nil {
					return err
				}
			}
			at, err := parseInstant(args[1], c.now(), zone)
			if err != nil {
				return err
			}
			v, err := cl.Explain(cmd.Context(), name, at)
			switch {
			case err != nil && missing != nil: // nothing is known of that time either
				return missing
			case err != nil:
				return err
			case missing != nil && c.forPeople():
				c.note("job %s is not there any more, so a time without a zone is one of UTC", name)
			}
			return c.print(v, func(p *page) {
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
			})
		},
	}
}
