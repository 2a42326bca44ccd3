package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// latestRuns is how many runs of a job are searched for its latest one.
const latestRuns = 100

// begun and active say which run is meant by the name of a job.
func begun(r *api.RunView) bool  { return r.Attempt > 0 && r.State != job.Armed }
func active(r *api.RunView) bool { return !r.State.Terminal() }
func ended(r *api.RunView) bool  { return r.State.Terminal() }

// withRun returns a call that gets a run as its first argument. If the argument is the name of a job, it stands for the latest run
// of the job that is suitable, or for the latest of all if none is. The name of the run goes to stderr.
func (c *cli) withRun(suits func(*api.RunView) bool, do call) call {
	return func(ctx context.Context, cl *client.Client, args []string) error {
		if len(args) == 0 || strings.Contains(args[0], "/") {
			return do(ctx, cl, args)
		}
		list, err := cl.Runs(ctx, client.RunFilter{Job: args[0], Limit: latestRuns}, "")
		if err != nil {
			return err
		}
		if len(list.Runs) == 0 {
			return fmt.Errorf("job %s has no runs yet: %w", args[0], job.ErrNotFound)
		}
		found := &list.Runs[0]
		for i := range list.Runs {
			if suits(&list.Runs[i]) {
				found = &list.Runs[i]
				break
			}
		}
		c.printErr("run %s", found.Ref)
		return do(ctx, cl, append([]string{found.Ref}, args[1:]...))
	}
}
