package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/spf13/cobra"
)

func newEventsCommand(c *cli) *cobra.Command {
	since := "24h"
	var follow bool
	cmd := &cobra.Command{
		Use:   "events [JOB]",
		Short: "Show what happened: takeovers, lost members, late and missed runs, changes",
		Long: `Show what happened, oldest first: takeovers, lost members, runs that were retried, failed, lost, late or
skipped, slots that were missed, and changes by people. With a job, show only the job and its runs.`,
		Example:           "  rota events --since 1h\n  rota events charge --since 7d\n  rota events -f",
		Args:              takes("[JOB]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			filter, err := c.runFilter(args, nil, since, 0)
			if err != nil {
				return err
			}
			v, err := cl.Timeline(ctx, filter.Since, filter.Job)
			if err != nil {
				return err
			}
			c.pageable = !follow
			if err := c.print(v, func(p *page) { writeEvents(p, v.Entries, !follow) }); err != nil || !follow {
				return err
			}
			return c.followEvents(ctx, cl, filter, v.Entries)
		}),
	}
	addSince(cmd, &since, "since a time, or since a span ago (24h, 7d)")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue with what happens from now on")
	return cmd
}

// followBack is how far back events -f looks again. An entry may appear some seconds after its time, because a lost replica is
// noticed later.
const followBack = 2 * time.Minute

// followEvents prints entries as they appear: see poll. None is older than filter says.
func (c *cli) followEvents(ctx context.Context, cl *client.Client, filter client.RunFilter, shown []timeline.Entry) error {
	var oldest time.Time
	if filter.Since != "" { // the zero time as --since has no limit
		var err error
		if oldest, err = time.Parse(time.RFC3339Nano, filter.Since); err != nil {
			return err
		}
	}
	type entry struct { // two entries at two times may have one text
		at         time.Time
		kind, text string
	}
	known := make(map[entry]bool)
	note := func(list []timeline.Entry) (news []timeline.Entry) {
		for _, e := range list {
			if key := (entry{e.At.UTC(), e.Kind, e.Text}); !known[key] {
				known[key] = true
				news = append(news, e)
			}
		}
		return news
	}
	note(shown)
	return c.poll(ctx, func() (int, error) {
		since := job.Later(oldest, c.now().Add(-followBack)).UTC()
		v, err := cl.Timeline(ctx, since.Format(time.RFC3339Nano), filter.Job)
		if err != nil {
			return 0, err
		}
		maps.DeleteFunc(known, func(e entry, _ bool) bool { return e.at.Before(since.Add(-followBack)) }) // no answer has it again
		if news := note(v.Entries); len(news) > 0 {
			return 0, c.print(api.Timeline{Entries: news}, func(p *page) { writeEvents(p, news, false) })
		}
		return 0, nil
	})
}

// writeEvents writes one line for each entry.
func writeEvents(p *page, entries []timeline.Entry, sayNone bool) {
	if len(entries) == 0 && sayNone {
		p.line("nothing happened in this time")
	}
	for _, e := range entries {
		kind := p.tint(fmt.Sprintf("%-11s", e.Kind), colorOfEntry(e.Kind))
		p.line("%s  %s  %s", e.At.UTC().Format("2006-01-02 15:04:05Z"), kind, printable(e.Text))
	}
}

func colorOfEntry(kind string) color {
	switch kind {
	case timeline.KindLostMember, timeline.KindLost, timeline.KindFailed:
		return red
	case timeline.KindRetried, timeline.KindLate, timeline.KindMissed, timeline.KindSkipped, timeline.KindFenced:
		return yellow
	case timeline.KindLeader, timeline.KindMember:
		return cyan
	}
	return plain
}
