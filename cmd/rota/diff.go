package main

import (
	"context"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newDiffCommand(c *cli) *cobra.Command {
	var prune bool
	cmd := &cobra.Command{
		Use:     "diff PATH...",
		Short:   "What apply would change",
		Long:    "Diff compares job files with the jobs of the cluster, and shows the next runs before and after. It changes nothing.",
		Example: "  rota diff jobs.yaml",
		Args:    takes("PATH..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.reader()
			if err != nil {
				return err
			}
			defer cl.Close()
			changes, err := c.changes(cmd.Context(), cl, args, prune)
			if err != nil {
				return err
			}
			return c.printChanges(changes)
		},
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "as if jobs that are in no file were removed")
	return cmd
}

// changes reads the files first, so that nobody is asked about files that are wrong.
func (c *cli) changes(ctx context.Context, cl *client.Client, paths []string, prune bool) ([]change, error) {
	set, err := c.loadJobs(paths)
	if err != nil {
		return nil, err
	}
	present, err := cl.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	first, last, err := limitChanges(ctx, cl, set, prune)
	if err != nil {
		return nil, err
	}
	jobs, err := compare(set, present, prune, c.now())
	return slices.Concat(first, jobs, last), err
}

// changeList is what diff and apply print as data.
type changeList struct {
	Changes []change `json:"changes"`
}

func (c *cli) printChanges(changes []change) error {
	return c.print(changeList{append([]change{}, changes...)}, func(p *page) {
		writeChanges(p, changes)
		p.line("%s", summary(changes))
	})
}
