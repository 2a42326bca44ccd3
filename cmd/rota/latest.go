package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// latestRuns is how many runs of a job one request searches for its latest one.
const latestRuns = 100

// choice says which run of a job its name stands for: the latest one that suits.
type choice struct {
	states []job.State               // of the runs that may suit; nil: any state
	suits  func(r *api.RunView) bool // nil: every run in these states suits
}

// withOutput suits runs whose output a worker has. A run on every worker has none: its copies have.
func withOutput() choice { return choice{suits: hasBegun} }

func begun() choice {
	return choice{suits: func(r *api.RunView) bool { return isWhole(r) && (r.Copies != nil || hasBegun(r)) }}
}

func hasBegun(r *api.RunView) bool { return r.Attempt > 0 && r.State != job.Armed }

func active() choice { return choice{states: statesThat(false), suits: isWhole} }
func ended() choice  { return choice{states: statesThat(true), suits: isWhole} }

// isWhole reports whether r is no copy of a run on every worker. A request about a job concerns all copies of its run.
func isWhole(r *api.RunView) bool { return r.Kind != job.KindCopy }

// statesThat lists the states that are terminal, or those that are not.
func statesThat(terminal bool) []job.State {
	return slices.DeleteFunc(job.States(), func(s job.State) bool { return s.Terminal() != terminal })
}

// withRun returns a call that gets a run as its first argument. If the argument is the name of a job, it stands for the latest run
// of the job that is suitable, or for the latest of all if none is. The name of the run goes to stderr.
func (c *cli) withRun(of choice, do call) call {
	return func(ctx context.Context, cl *client.Client, args []string) error {
		if len(args) == 0 || strings.Contains(args[0], "/") {
			return do(ctx, cl, args)
		}
		name, err := latestRun(ctx, cl, args[0], of)
		if err != nil {
			return err
		}
		c.printErr("run %s", name)
		return do(ctx, cl, append([]string{name}, args[1:]...))
	}
}

// latestRun returns the name of the run for withRun. Many runs may be later than the suitable one, such as submissions for later.
func latestRun(ctx context.Context, cl *client.Client, jobName string, of choice) (string, error) {
	for r, err := range cl.AllRuns(ctx, client.RunFilter{Job: jobName, States: of.states, Limit: latestRuns}) {
		if err != nil || of.suits == nil || of.suits(&r) {
			return r.Ref, err
		}
	}
	for r, err := range cl.AllRuns(ctx, client.RunFilter{Job: jobName, Limit: latestRuns}) {
		if err != nil || isWhole(&r) {
			return r.Ref, err
		}
	}
	return "", fmt.Errorf("job %s has no runs yet: %w", jobName, job.ErrNotFound)
}
