package main

import (
	"context"
	"errors"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newDeleteCommand(c *cli) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete JOB",
		Short: "Remove a job that the API created",
		Long: `Remove a job that the API created, for example with rota apply. Its waiting runs are canceled; delete lists them and asks.
A run that has begun goes on to its end. Where nobody can be asked, delete removes nothing without --yes. A job of a file is
removed in the file.`,
		Example:           "  rota delete old-report --yes",
		Args:              takes("JOB"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			v, err := cl.Job(ctx, args[0])
			if err != nil {
				return err
			}
			if v.Origin.Kind == job.OriginFile {
				return &codedError{
					code: exitConflict,
					hint: "remove it there",
					err:  errors.New("job " + args[0] + " is defined in " + v.Origin.Source),
				}
			}
			waiting, all, err := notBegun(ctx, cl, v.Name, v.Active, v.ActiveRuns)
			if err != nil {
				return err
			}
			for _, run := range waiting {
				c.printErr("will cancel run: %s", run)
			}
			if more := all - len(waiting); more > 0 {
				c.printErr("will cancel runs: %d more", more)
			}
			switch {
			case yes:
			case !c.interactive():
				return usageError{"delete would remove job " + args[0] + ", and there is no terminal to ask at", "add --yes to go on"}
			case !c.confirm("remove job " + args[0] + "?"):
				return errors.New("nothing was changed")
			}
			if err := cl.DeleteJob(ctx, args[0], api.Precondition{Revision: v.Revision}); err != nil {
				return err
			}
			return c.print(v, func(p *page) { p.line("job %s deleted", args[0]) })
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove without asking")
	return cmd
}

// notBegun returns those of a job's active runs that its removal cancels, and their number. The others go on to their ends.
func notBegun(ctx context.Context, cl *client.Client, jobName string, active []string, all int) ([]string, int, error) {
	if all == 0 {
		return nil, 0, nil
	}
	for r, err := range cl.AllRuns(ctx, client.RunFilter{Job: jobName, States: []job.State{job.Running}}) {
		if err != nil {
			return nil, 0, err
		}
		parent := ""
		if id := r.CopyOf(); id != "" { // the run of all copies ends with them
			parent = r.Job + "/" + id
		}
		before := len(active)
		active = slices.DeleteFunc(active, func(name string) bool { return name == r.Ref || name == parent })
		all -= max(1, before-len(active))
	}
	return active, max(all, len(active)), nil
}
