package main

import (
	"context"
	"slices"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newDiffCommand(c *cli) *cobra.Command {
	var prune pruneFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:     "diff PATH...",
		Short:   "Show the changes that apply would make",
		Long:    "Compare job files with the jobs of the cluster, and show the next runs before and after. Diff changes nothing.",
		Example: "  rota diff jobs.yaml\n  rota diff jobs.yaml --exit-code",
		Args:    takes("PATH..."),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, paths []string) error {
			changes, err := c.changes(ctx, cl, paths, prune, true)
			if err != nil {
				return err
			}
			if err := c.preview(changes); err != nil || !exitCode || len(changes) == len(ofKind(changes, unchanged)) {
				return err
			}
			return &codedError{code: exitFailed, err: errAttention}
		}),
	}
	prune.add(cmd, "include the removals of apply --prune")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if something would change")
	return cmd
}

// changes compares files with the cluster. It reads the files first. If they have mistakes, it does not call the cluster. In the
// result, changes of limits come before the jobs that name them, and removals of limits come after all jobs. shown says that the
// changes are only shown: then values that this client does not see are left out of the comparison.
func (c *cli) changes(ctx context.Context, cl *client.Client, paths []string, flags pruneFlags, shown bool) ([]change, error) {
	set, err := c.loadJobs(paths)
	if err != nil {
		return nil, err
	}
	prune, err := flags.read(ctx, cl)
	if err != nil {
		return nil, err
	}
	present, err := cl.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	if shown {
		c.hideUnseen(set, present)
	}
	var limits, removals []change
	if len(set.Limits) > 0 || prune.limits() {
		known, err := cl.Limits(ctx)
		if err != nil {
			return nil, err
		}
		if limits, removals, err = compareLimits(set, known, prune.limits()); err != nil {
			return nil, err
		}
	}
	jobs, err := compareJobs(set, present, prune, c.now())
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		ch := &jobs[i]
		if ch.Cancels, ch.CancelsAll, err = notBegun(ctx, cl, ch.Job, ch.Cancels, ch.CancelsAll); err != nil {
			return nil, err
		}
	}
	return slices.Concat(limits, jobs, removals), nil
}

// hideUnseen masks the values of the files that the role of this client does not see in the cluster. Otherwise they would all look
// changed.
func (c *cli) hideUnseen(set *config.Set, present []api.JobView) {
	masked := 0
	for i := range present {
		name := present[i].Job.Name
		if d, ok := set.Jobs[name]; ok && hasMask(present[i].Spec) {
			d.Spec = *api.MaskSpec(&d.Spec)
			set.Jobs[name] = d
			masked++
		}
	}
	if masked > 0 {
		const values = "no values of env and headers, and no URLs of notifiers and pings"
		c.printErr("note: %s: your role sees %s; rota does not compare these values", counted(masked, "job"), values)
	}
}

// changeList is the data that diff and apply print.
type changeList struct {
	Changes []change `json:"changes"`
}

// preview prints changes that nobody has made.
func (c *cli) preview(changes []change) error {
	heading := "preview, nothing was changed: "
	if len(changes) == len(ofKind(changes, unchanged)) {
		heading = ""
	}
	return c.printChanges(changes, heading)
}

// printChanges prints changes, and heading before their summary.
func (c *cli) printChanges(changes []change, heading string) error {
	return c.print(changeList{append([]change{}, changes...)}, func(p *page) {
		writeChanges(p, changes)
		p.line("%s%s", heading, summary(changes))
	})
}
