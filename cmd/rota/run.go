package main

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newRunCommand(c *cli) *cobra.Command {
	var (
		flags submitFlags
		wait  waitFlags
	)
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job now",
		Long: `Create a run of a job now and print its name. With --wait, wait for the end and exit with the job's code: the exit code
of a command, 124 after a timeout, 1 for every other failure.

With --workflow, also start the steps behind the job. Then --wait waits for all of them, and the code is that of the first job in
the order of the workflow that did not succeed. A step that is skipped because of its parents is no failure.`,
		Example:           "  rota run nightly-backup --wait --logs",
		Args:              takes("JOB"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			request, err := c.requestOf(&flags)
			if err != nil {
				return err
			}
			request.Workflow = wait.workflow
			r, created, err := cl.Submit(ctx, args[0], request)
			if err != nil {
				return err
			}
			c.printRepeated(created, &r)
			return c.submitted(ctx, cl, r, wait)
		}),
	}
	flags.add(c, cmd)
	cmd.Flags().BoolVar(&wait.workflow, "workflow", false, "also start the steps behind the job, with the same id")
	wait.add(cmd)
	return cmd
}

// printRepeated reports that the run existed already: an earlier request with the same key created it. If it has ended without
// success, nothing runs.
func (c *cli) printRepeated(created bool, r *api.RunView) {
	if created {
		return
	}
	text := fmt.Sprintf("an earlier request with the key %q created run %s: it is %s", r.Key, r.Ref, r.State)
	if r.State.Terminal() && r.State != job.Succeeded {
		text += "; rota retry repeats it, and another key makes a new run"
	}
	c.printErr("%s", text)
}
