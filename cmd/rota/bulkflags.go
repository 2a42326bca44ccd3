package main

import (
	"context"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// bulkFlags are the flags of commands that change many jobs or runs.
type bulkFlags struct {
	selector string
	since    string
	states   []string
	yes      bool
	selects  []string // names of the flags that select jobs or runs
}

func (b *bulkFlags) add(cmd *cobra.Command) {
	addSelector(cmd, &b.selector)
	cmd.Flags().BoolVar(&b.yes, "yes", false, "change many without asking")
	b.selects = []string{"selector"}
}

// addRuns adds the flags that select runs. The states are those that the command selects without --state.
func (b *bulkFlags) addRuns(cmd *cobra.Command, states []job.State) {
	b.add(cmd)
	addSince(cmd, &b.since, "all runs with slots since a time, or since a span ago (24h, 7d)")
	cmd.Flags().StringSliceVar(&b.states, "state", texts(states), "all runs in this state; may be repeated")
	completeFlag(cmd, "state", stateNames())
	b.selects = append(b.selects, "since", "state")
}

// many reports whether the command line selects jobs or runs by flags.
func (b *bulkFlags) many(cmd *cobra.Command) bool {
	return slices.ContainsFunc(b.selects, cmd.Flags().Changed)
}

// args checks the arguments: one name, or flags that select. With --state or --since, the name of a job selects too. With one name,
// --yes has no effect, because the command does not ask.
func (b *bulkFlags) args(one cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case !b.many(cmd) && b.yes && len(args) == 0:
			return usagef("%s: --yes needs one of --%s", cmd.Name(), strings.Join(b.selects, ", --"))
		case !b.many(cmd):
			return one(cmd, args)
		case len(args) > 0 && b.selector != "":
			return usagef("%s: give either one name or a selector", cmd.Name())
		case cmd.Flags().Changed("state") && len(b.states) == 0:
			return usagef("%s: --state is empty: give a state, or leave the flag out", cmd.Name())
		case len(args) == 1 && strings.Contains(args[0], "/"):
			return usagef("%s: --state and --since select runs of a job; %s is a run", cmd.Name(), args[0])
		}
		return takes("[JOB]")(cmd, args)
	}
}

// either returns the RunE of a command: all if flags select jobs or runs, and one otherwise.
func (b *bulkFlags) either(all, one func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if b.many(cmd) {
			return all(cmd, args)
		}
		return one(cmd, args)
	}
}

// filter returns the filter of the flags. args has the name of a job, or is empty.
func (b *bulkFlags) filter(c *cli, args []string) (client.RunFilter, error) {
	f, err := c.runFilter(args, b.states, b.since, 0)
	f.Selector = b.selector
	return f, err
}

// allRuns returns all runs of a filter, latest first. If there is none and the filter names a job, the job must exist.
func allRuns(ctx context.Context, cl *client.Client, f client.RunFilter) ([]api.RunView, error) {
	runs, _, err := collectRuns(ctx, cl, f, 0)
	if err == nil && len(runs) == 0 && f.Job != "" {
		_, err = cl.Job(ctx, f.Job)
	}
	return runs, err
}

// of returns which jobs or runs the flags and the arguments select, for a sentence; empty if these are all.
func (b *bulkFlags) of(args []string) string {
	switch {
	case b.selector != "":
		return " with labels " + b.selector
	case len(args) > 0:
		return " of job " + args[0]
	}
	return ""
}
