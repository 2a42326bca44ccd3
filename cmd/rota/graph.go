package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/extract"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/spf13/cobra"
)

func newGraphCommand(c *cli) *cobra.Command {
	form, slot := "text", ""
	cmd := &cobra.Command{
		Use:   "graph [JOB]",
		Short: "Show which jobs follow which",
		Long: `Show the workflow that a job belongs to: each job after its parents. Without a job, show all workflows. With --slot, show
how each job of one slot stands, or of one run by hand.

The formats dot and mermaid are pictures for Graphviz and Mermaid.`,
		Example:           "  rota graph nightly-backup --slot 2026-01-31T02:30:00Z\n  rota graph nightly-backup -o mermaid",
		Args:              takes("[JOB]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			if p, err := extract.Parse(form); err != nil || p == nil && !slices.Contains(graphForms, form) {
				forms := slices.Concat(graphForms, extract.Forms())
				return usageError{fmt.Sprintf("unknown output format %q", form), "use " + strings.Join(forms, ", ")}
			}
			views, err := c.workflows(ctx, cl, args, slot)
			if err != nil {
				return err
			}
			switch form {
			case "dot":
				return c.print(nil, func(p *page) { writeDot(p, views) })
			case "mermaid":
				return c.print(nil, func(p *page) { writeMermaid(p, views) })
			case "text", "table", "wide":
			default:
				c.format = format(form)
			}
			if len(args) == 1 {
				return c.print(views[0], func(p *page) { writeWorkflows(p, views) })
			}
			return c.print(views, func(p *page) { writeWorkflows(p, views) })
		}),
	}
	cmd.Flags().StringVarP(&form, "output", "o", form, "output format: "+strings.Join(append(graphForms, extract.Forms()...), ", "))
	cmd.Flags().StringVar(&slot, "slot", "", "a slot, or the id of a run by hand, whose runs are shown")
	return cmd
}

var graphForms = []string{"text", "table", "wide", "dot", "mermaid", "json", "yaml"}

// workflows returns the workflow of a job, or all workflows.
func (c *cli) workflows(ctx context.Context, cl *client.Client, args []string, slot string) ([]api.WorkflowView, error) {
	id := slot
	if _, name, ok := strings.Cut(slot, "/"); ok { // the name of a run
		id = name
	}
	if at, err := parseInstant(id, c.now(), time.UTC); id != "" && err == nil {
		id = job.SlotID(at)
	}
	starts := args
	if len(args) == 0 {
		jobs, err := cl.Jobs(ctx)
		if err != nil {
			return nil, err
		}
		specs := make(map[string]*job.Spec, len(jobs))
		for i := range jobs {
			specs[jobs[i].Job.Name] = jobs[i].Spec
		}
		graph, seen := workflow.Of(specs), map[string]bool{}
		for i := range jobs {
			name := jobs[i].Job.Name
			if members := graph.Workflow(name); !seen[name] && len(members) > 1 {
				starts = append(starts, members[0])
				for _, m := range members {
					seen[m] = true
				}
			}
		}
	}
	views := []api.WorkflowView{}
	for _, name := range starts {
		v, err := cl.Workflow(ctx, name, id)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	hasRun := func(v api.WorkflowView) bool {
		return slices.ContainsFunc(v.Steps, func(s api.StepView) bool { return s.Ref != "" })
	}
	if id != "" && !slices.ContainsFunc(views, hasRun) {
		return nil, fmt.Errorf("none of these jobs has a run %s: %w", id, job.ErrNotFound)
	}
	return views, nil
}

func writeWorkflows(p *page, views []api.WorkflowView) {
	if len(views) == 0 {
		p.line("No job follows another. docs/how-to/build-a-workflow.md shows how to join jobs.")
	}
	for n := range views {
		if n > 0 {
			p.line("")
		}
		v := &views[n]
		rows := [][]any{{"JOB", "AFTER"}}
		if v.ID != "" {
			rows[0] = append(rows[0], "STATE", "RUN", "REASON")
		}
		depth := map[string]int{}
		for i := range v.Steps {
			step := &v.Steps[i]
			for _, a := range step.After {
				depth[step.Job] = max(depth[step.Job], depth[a.Job]+1)
			}
			row := []any{strings.Repeat("  ", depth[step.Job]) + step.Job, orDash(job.ParentsText(step.After))}
			if v.ID != "" {
				row = append(row, orDash(string(step.State)), orDash(step.Ref), printable(step.Reason))
			}
			rows = append(rows, row)
		}
		p.table(rows)
		if v.ID != "" && !slices.ContainsFunc(v.Steps, func(s api.StepView) bool { return s.Ref != "" }) {
			p.line("None of these jobs has a run %s: `rota explain JOB SLOT` says why a slot did not run", printable(v.ID))
		}
	}
}

// label returns the text of a job in a picture, with sep between its lines.
func label(step *api.StepView, sep string) string {
	if step.State == "" {
		return step.Job
	}
	return step.Job + sep + string(step.State)
}

func writeDot(p *page, views []api.WorkflowView) {
	p.line("digraph rota {")
	p.line("  rankdir=LR;")
	for n := range views {
		for i := range views[n].Steps {
			step := &views[n].Steps[i]
			p.line("  %s [label=%s];", strconv.Quote(step.Job), strconv.Quote(label(step, "\n")))
			for _, a := range step.After {
				more := ""
				if a.When != "" && a.When != job.WhenSuccess {
					more = " [label=" + strconv.Quote(string(a.When)) + "]"
				}
				p.line("  %s -> %s%s;", strconv.Quote(a.Job), strconv.Quote(step.Job), more)
			}
		}
	}
	p.line("}")
}

func writeMermaid(p *page, views []api.WorkflowView) {
	p.line("flowchart LR")
	for n := range views {
		for i := range views[n].Steps { // "end" alone is a keyword of Mermaid, so ids have a prefix
			step := &views[n].Steps[i]
			p.line("  j-%s[%q]", step.Job, label(step, "<br/>"))
			for _, a := range step.After {
				arrow := "-->"
				if a.When != "" && a.When != job.WhenSuccess {
					arrow = "-- " + string(a.When) + " -->"
				}
				p.line("  j-%s %s j-%s", a.Job, arrow, step.Job)
			}
		}
	}
}
