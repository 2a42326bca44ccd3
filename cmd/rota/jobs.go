package main

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newJobsCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "jobs",
		Short:   "List jobs",
		Example: "  rota jobs -o wide",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, _ []string) error {
			jobs, err := cl.Jobs(ctx)
			if err != nil {
				return err
			}
			running := map[string]bool{}
			if c.forPeople() {
				if running, err = runningJobs(ctx, cl, ""); err != nil {
					return err
				}
			}
			list := api.JobList{Jobs: append([]api.JobView{}, jobs...)} // never null in JSON
			return c.print(list, func(p *page) { writeJobs(p, jobs, running) })
		}),
	}
}

// runningJobs returns the jobs with a run that is due and assigned to a worker. name selects one job; "" means all jobs.
// JobView.Active is not enough for this: it also counts a run that was submitted for next week.
func runningJobs(ctx context.Context, cl *client.Client, name string) (map[string]bool, error) {
	running := map[string]bool{}
	for r, err := range cl.AllRuns(ctx, client.RunFilter{Job: name, States: []job.State{job.Armed, job.Running}, Limit: pageSize}) {
		if err != nil {
			return nil, err
		}
		if r.State == job.Running || !r.Due.After(time.Now()) {
			running[r.Job] = true
		}
	}
	return running, nil
}

func writeJobs(p *page, jobs []api.JobView, running map[string]bool) {
	if len(jobs) == 0 {
		p.line("no jobs; `rota apply FILE` creates some")
		return
	}
	header := []any{"NAME", "SCHEDULE", "NEXT", "LAST", tinted{"STATE", plain}}
	if p.wide {
		header = append(header, "TIMEZONE", "KIND", "ORIGIN", "GENERATION", "DESCRIPTION")
	}
	rows := [][]any{header}
	for i := range jobs {
		v := &jobs[i]
		next, last := "", ""
		if v.Next != nil && v.Paused == nil {
			next = p.when(*v.Next)
		}
		if v.Last != nil {
			last = p.when(v.Last.Finished)
		}
		state, color := stateOf(v, running[v.Job.Name])
		row := []any{v.Job.Name, scheduleOf(v.Spec), next, last, tinted{state, color}}
		if p.wide {
			row = append(row, v.Spec.Timezone, v.Spec.Kind(), originOf(&v.Job), v.Generation, v.Spec.Description)
		}
		rows = append(rows, row)
	}
	p.table(rows)
}

// stateOf returns one word for a job: its present activity, or else the state of its last run.
func stateOf(v *api.JobView, running bool) (string, color) {
	switch {
	case v.Paused != nil:
		return "paused", yellow
	case running:
		return "running", cyan
	case v.Last == nil:
		return "new", plain
	case v.Last.State == job.Succeeded:
		return "ok", green
	}
	return string(v.Last.State), colorOf(v.Last.State)
}

func originOf(j *job.Job) string {
	if j.Origin.Source == "" {
		return j.Origin.Kind
	}
	return j.Origin.Kind + ":" + j.Origin.Source
}
