package main

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// finishSteps waits for the end of the steps that were started together with r, which has ended. Its error has the exit code of
// the first job, in the order of the workflow, that did not succeed. A step that was skipped for its parents is no failure.
func (c *cli) finishSteps(ctx context.Context, cl *client.Client, r *api.RunView, logs bool) error {
	first := c.outcome(ctx, cl, r)
	if first != nil {
		c.printErr("%v", first)
	}
	v, err := c.workflowOf(ctx, cl, r)
	if err != nil {
		return err
	}
	all := []api.RunView{*r}
	for _, s := range v.Steps {
		if !s.Behind || s.Ref != s.Job+"/"+r.ID { // a resumed workflow shows runs of earlier ids, too
			continue
		}
		step, err := c.await(ctx, cl, s.Ref, logs)
		if err != nil {
			return err
		}
		all = append(all, step)
		switch err := c.outcome(ctx, cl, &step); {
		case err == nil:
		case step.State == job.Skipped && workflow.SkippedForParents(&step.Run):
			c.printErr("%v", err)
		case first == nil:
			first = err
			fallthrough
		default:
			c.printErr("%v", err)
		}
	}
	if !c.forPeople() {
		if err := c.print(all, nil); err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	return &codedError{code: exitCode(ctx, first), err: fmt.Errorf("the workflow of run %s did not succeed", r.Ref)}
}

// workflowOf reads the workflow of a run. It continues while no replica answers, for up to maxOutage.
func (c *cli) workflowOf(ctx context.Context, cl *client.Client, r *api.RunView) (api.WorkflowView, error) {
	began := c.now()
	for {
		v, err := cl.Workflow(ctx, r.Job, r.ID)
		if !passes(err) || c.now().Sub(began) > maxOutage || sleep(ctx, maxPoll) != nil {
			return v, err
		}
	}
}
