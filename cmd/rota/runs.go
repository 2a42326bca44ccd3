package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newRunsCommand(c *cli) *cobra.Command {
	var (
		states   []string
		since    string
		selector string
		limit    int
		watch    bool
	)
	cmd := &cobra.Command{
		Use:               "runs [JOB]",
		Short:             "List runs, latest first",
		Example:           "  rota runs charge --state failed --since 24h\n  rota runs --watch",
		Args:              takes("[JOB]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			filter, err := c.runFilter(args, states, since, limit)
			if err != nil {
				return err
			}
			filter.Selector = selector
			if watch {
				return c.watchList(ctx, "", func(p *page) ([]any, []watchedRow, error) {
					runs, _, err := collectRuns(ctx, cl, filter, limit)
					slices.Reverse(runs) // what is new comes last
					header, rows := watchedRows(runRows(p, runs), runs, func(r *api.RunView) string { return r.Ref })
					return header, rows, err
				})
			}
			runs, more, err := collectRuns(ctx, cl, filter, limit)
			if err != nil {
				return err
			}
			if more {
				c.printErr("note: there are more runs; use --limit %d, or --limit 0 for all", 4*limit)
			}
			list := runsOutput{RunList: api.RunList{Runs: runs}}
			if c.forPeople() || c.wholeDocument() { // the other formats print the items of a document's only list
				if list.Missed, err = missedRanges(ctx, cl, filter, runs, more); err != nil {
					c.printErr("note: slots without runs are not shown: %v", err)
				}
			}
			return c.print(list, func(p *page) {
				writeRuns(p, runs)
				writeMissed(p, list.Missed)
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&states, "state", nil, "only runs in this state; may be repeated")
	addSince(cmd, &since, "only slots since a time, or since a span ago (24h, 7d)")
	flags.IntVar(&limit, "limit", 50, "maximum number of runs; 0 for all")
	addSelector(cmd, &selector)
	addWatch(cmd, &watch)
	completeFlag(cmd, "state", stateNames())
	return cmd
}

// pageSize is the largest number of elements in one answer of the API.
const pageSize = 1000

// pageLimit returns how many elements to ask for at a time, for a flag --limit.
func pageLimit(limit int) (int, error) {
	switch {
	case limit < 0:
		return 0, usagef("--limit %d: give a positive number, or 0 for all", limit)
	case limit == 0:
		return pageSize, nil
	}
	return min(limit, pageSize), nil
}

func (c *cli) runFilter(args, states []string, since string, limit int) (f client.RunFilter, err error) {
	if len(args) > 0 {
		f.Job = args[0]
	}
	if f.Limit, err = pageLimit(limit); err != nil {
		return f, err
	}
	for _, s := range states {
		state := job.State(strings.ReplaceAll(strings.TrimSpace(s), "-", "_"))
		if !state.Valid() {
			wrong := usageError{fmt.Sprintf("--state %q: use %s", s, strings.Join(stateNames(), ", ")), ""}
			if likely, ok := likelyStates[strings.ToLower(string(state))]; ok {
				wrong.hint = fmt.Sprintf("did you mean %s?", likely)
			}
			return f, wrong
		}
		if !slices.Contains(f.States, state) {
			f.States = append(f.States, state)
		}
	}
	f.Since, err = c.sinceTime(since)
	return f, err
}

// addSince adds the flag --since, whose default is the value of since.
func addSince(cmd *cobra.Command, since *string, usage string) {
	cmd.Flags().Var(&givenFlag{since, "a time or a span"}, "since", usage)
}

// sinceTime returns the value of a flag --since as a time for the API; "" if the flag is not given.
func (c *cli) sinceTime(since string) (string, error) {
	t, err := c.sinceInstant(since)
	if err != nil || t.IsZero() {
		return "", err
	}
	return t.UTC().Format(time.RFC3339Nano), nil
}

// sinceInstant returns the time that a flag --since names; zero if the flag is not given.
func (c *cli) sinceInstant(since string) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	if d, err := parseSpan(since); err == nil {
		return c.now().Add(-d), nil
	}
	t, err := parseInstant(since, c.now(), time.Local)
	if err != nil {
		msg := fmt.Sprintf("--since %q is neither a time span nor a time", since)
		return t, usageError{msg, "write it as 24h, 7d, today or 2026-01-31T02:30:00Z"}
	}
	if _, ofDay := clockTime(since, c.now(), time.Local); ofDay && t.After(c.now()) {
		t = t.AddDate(0, 0, -1) // of yesterday
	}
	return t, nil
}

// likelyStates has words of other tools for states.
var likelyStates = map[string]job.State{
	"waiting": job.Pending, "queued": job.Pending, "active": job.Running, "started": job.Running, "success": job.Succeeded,
	"completed": job.Succeeded, "failure": job.Failed, "error": job.Failed, "timeout": job.TimedOut, "cancelled": job.Canceled,
	"missed": job.Skipped,
}

func stateNames() []string { return texts(job.States()) }

func collectRuns(ctx context.Context, cl *client.Client, f client.RunFilter, limit int) ([]api.RunView, bool, error) {
	return collect(limit, func(next string) ([]api.RunView, string, error) {
		list, err := cl.Runs(ctx, f, next)
		return list.Runs, list.Continue, err
	})
}

// collect reads pages of a list until it has limit elements, and reports whether there are more. Limit 0 reads all.
func collect[T any](limit int, read func(next string) (page []T, after string, err error)) (all []T, more bool, err error) {
	all = []T{}
	for next := ""; ; {
		page, after, err := read(next)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page...)
		if next = after; limit > 0 && len(all) >= limit {
			return all[:limit], len(all) > limit || next != "", nil
		}
		if next == "" {
			return all, false, nil
		}
	}
}

func writeRuns(p *page, runs []api.RunView) {
	if len(runs) == 0 {
		p.line("no runs")
		return
	}
	p.table(runRows(p, runs))
}

// runRows returns the table of runs with its header.
func runRows(p *page, runs []api.RunView) [][]any {
	header := []any{"RUN", tinted{"STATE", plain}, "STARTED", "TOOK", "ATTEMPT"}
	if p.wide {
		header = append(header, "KIND", "DUE", "FINISHED", "WORKER", "TOKEN", "EXIT", "BY")
	}
	rows := [][]any{append(header, "REASON")}
	for i := range runs {
		r := &runs[i]
		started := startedAt(&r.Run)
		state := tinted{string(r.State), colorOf(r.State)}
		row := []any{r.Ref, state, p.when(started), lasted(started, r.Finished, p.now), r.Attempt}
		if p.wide {
			row = append(row, string(r.Kind), p.when(r.KnownDue()), p.when(r.Finished), r.Worker, r.Token, exitText(r.Exit), r.By)
		}
		rows = append(rows, append(row, p.shortened(r.Reason)))
	}
	return rows
}

// startedAt returns the start of a run's first attempt, zero if none has started.
func startedAt(r *job.Run) time.Time {
	for _, a := range r.Attempts {
		if !a.Started.IsZero() && a.HasBegun() {
			return a.Started
		}
	}
	if len(r.Attempts) > 0 && r.State != job.Running {
		return time.Time{}
	}
	return r.Started
}

func exitText(exit *int) string {
	if exit == nil {
		return ""
	}
	return fmt.Sprint(*exit)
}
