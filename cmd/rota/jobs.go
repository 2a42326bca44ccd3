package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newJobsCommand(c *cli) *cobra.Command {
	var (
		selector string
		states   []string
		watch    bool
	)
	cmd := &cobra.Command{
		Use:     "jobs",
		Short:   "List jobs",
		Example: "  rota jobs -l team=billing -o wide\n  rota jobs --state failed,lost\n  rota jobs --watch",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, _ []string) error {
			for _, s := range states {
				if !slices.Contains(shownStates(), s) {
					return usagef("--state %q: use %s", s, strings.Join(shownStates(), ", "))
				}
			}
			read := func() ([]api.JobView, map[string]bool, error) {
				jobs, err := cl.SelectJobs(ctx, selector)
				if err != nil || !c.forPeople() && len(states) == 0 {
					return jobs, nil, err
				}
				running, err := runningJobs(ctx, cl, "")
				return inStates(jobs, running, states), running, err
			}
			if watch {
				gone := "deleted"
				if selector != "" || len(states) > 0 { // it may exist in another state, or with other labels
					gone = "not listed"
				}
				return c.watchList(ctx, gone, func(p *page) ([]any, []watchedRow, error) {
					jobs, running, err := read()
					header, rows := watchedRows(jobRows(p, jobs, running), jobs, func(v *api.JobView) string { return v.Job.Name })
					return header, rows, err
				})
			}
			jobs, running, err := read()
			if err != nil {
				return err
			}
			list := api.JobList{Jobs: append([]api.JobView{}, jobs...)} // never null in JSON
			err = c.print(list, func(p *page) {
				switch {
				case len(jobs) > 0 || selector == "" && len(states) == 0:
					writeJobs(p, jobs, running)
				case len(states) > 0:
					p.line("no jobs in state %s", strings.Join(states, ", "))
				default:
					p.line("no jobs with labels %s", selector)
				}
			})
			if err != nil {
				return err
			}
			c.noteGate(ctx, cl)
			return nil
		}),
	}
	addSelector(cmd, &selector)
	cmd.Flags().StringSliceVar(&states, "state", nil, "only jobs whose STATE is this; may be repeated")
	addWatch(cmd, &watch)
	completeFlag(cmd, "state", shownStates())
	return cmd
}

// shownStates lists the words of stateOf.
func shownStates() []string {
	states := []string{"paused", "running", "new", "ok"}
	for _, s := range job.States() {
		if s.Terminal() && s != job.Succeeded {
			states = append(states, string(s))
		}
	}
	return states
}

// inStates returns the jobs that are in one of the states; all jobs if states is empty.
func inStates(jobs []api.JobView, running map[string]bool, states []string) []api.JobView {
	if len(states) == 0 {
		return jobs
	}
	return slices.DeleteFunc(jobs, func(v api.JobView) bool {
		state, _ := stateOf(&v, running[v.Job.Name])
		return !slices.Contains(states, state)
	})
}

// addSelector adds the flag that selects jobs by their labels.
func addSelector(cmd *cobra.Command, selector *string) {
	const usage = "only jobs with these labels: team=a, team!=a, team in (a,b), team, !team"
	cmd.Flags().VarP(newSelectorFlag(selector), "selector", "l", usage)
}

// selectorFlag is a flag that refuses a malformed or empty selector. An empty one usually comes from an unset variable in a
// script, and would select all jobs.
type selectorFlag struct{ givenFlag }

func newSelectorFlag(text *string) *selectorFlag {
	return &selectorFlag{givenFlag{text, "a selector such as team=a"}}
}

// Set implements pflag.Value.
func (f *selectorFlag) Set(s string) error {
	if *f.text != "" { // a repeated flag: the labels must match both
		s = *f.text + "," + s
	}
	parsed, err := job.ParseSelector(s)
	if err != nil {
		return err
	}
	if parsed.Empty() {
		s = ""
	}
	return f.givenFlag.Set(s)
}

// Type implements pflag.Value.
func (f *selectorFlag) Type() string { return "selector" }

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
	p.table(jobRows(p, jobs, running))
}

// jobRows returns the table of jobs with its header.
func jobRows(p *page, jobs []api.JobView, running map[string]bool) [][]any {
	header := []any{"NAME", "SCHEDULE", "NEXT", "LAST", tinted{"STATE", plain}}
	if p.wide {
		header = append(header, "LABELS", "TIMEZONE", "KIND", "ORIGIN", "GENERATION", "DESCRIPTION")
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
			row = append(row, labelsText(v.Spec.Labels), v.Spec.Timezone, v.Spec.Kind(), originText(v.Origin), v.Generation,
				v.Spec.Description)
		}
		rows = append(rows, row)
	}
	return rows
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

// labelsText lists labels as team=a,tier=gold, in the order of their keys.
func labelsText(labels map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, key+"="+labels[key])
	}
	return strings.Join(list, ",")
}

func originText(o job.Origin) string {
	if o.Source == "" {
		return o.Kind
	}
	return o.Kind + ":" + o.Source
}
