package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// gridData is the data of the view workflow: its graph, and a grid of slots and steps.
type gridData struct {
	Job     string
	Graph   *graph
	Steps   []string
	Rows    []gridRow
	Unshown int // steps beside them
}

// gridRow has the runs of all steps of one slot or id.
type gridRow struct {
	Run   api.WorkflowRunView
	Cells []gridCell // one for each step
}

// gridCell is the run of one step; State is empty if there is none.
type gridCell struct {
	Job    string
	State  job.State
	Reason string
	Link   string
	Resume string // starts the workflow again from this step; empty if it did not fail
}

// The size of the grid. It bounds the size of the page.
const (
	gridRows  = 20
	gridSteps = 30
)

// grid shows a workflow.
func (s *site) grid(r *http.Request) (*page, error) {
	name := r.PathValue("job")
	v, err := get[api.WorkflowRunsView](s, r, fmt.Sprintf("/v1/jobs/%s/workflow/runs?limit=%d", url.PathEscape(name), gridRows))
	if err != nil {
		return nil, err
	}
	d := gridOf(&v)
	latest := ""
	if len(v.Runs) > 0 {
		latest = v.Runs[0].ID
	}
	d.Graph = s.workflow(r, name, latest)
	return &page{View: "workflow", Title: "Workflow of " + name, Watch: "*", Data: d}, nil
}

// gridOf arranges the runs.
func gridOf(v *api.WorkflowRunsView) *gridData {
	d := &gridData{Job: v.Job, Steps: v.Steps[:min(gridSteps, len(v.Steps))]}
	d.Unshown = len(v.Steps) - len(d.Steps)
	for _, run := range v.Runs {
		row := gridRow{Run: run, Cells: make([]gridCell, len(d.Steps))}
		for i, step := range d.Steps {
			cell, known := run.Steps[step]
			if !known {
				continue
			}
			row.Cells[i] = gridCell{Job: step, State: cell.State, Reason: cell.Reason, Link: runLink(step + "/" + run.ID)}
			if classOf(cell.State) == "bad" || cell.State == job.Canceled {
				row.Cells[i].Resume = "/do/resume-workflow?job=" + url.QueryEscape(step) + "&run=" + url.QueryEscape(run.ID)
			}
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

func prepareResumeWorkflow(s *site, r *http.Request, f *form) error {
	v, err := get[api.RunView](s, r, f.path())
	if err != nil {
		return err
	}
	f.Title, f.Verb = "Resume the workflow from "+v.Ref, "Resume"
	flow, err := get[api.WorkflowView](s, r, jobPath(f.Job)+"/workflow?slot="+url.QueryEscape(f.Run))
	switch {
	case err != nil:
		return err
	case !v.State.Terminal():
		return f.block("The run has not ended. A workflow is resumed from a run that failed.")
	case v.State == job.Succeeded || v.State == job.Skipped:
		return f.block("The run did not fail: " + looks[string(v.State)].words + ". A workflow is resumed from a run that failed.")
	}
	var again []string
	for i := range flow.Steps {
		if step := &flow.Steps[i]; step.Behind && step.State != job.Succeeded {
			again = append(again, step.Job)
		}
	}
	f.Facts = []string{"This creates a new run of " + f.Job + ", under a new id. It starts now."}
	if len(again) > 0 {
		f.Facts = append(f.Facts, "At most these steps behind it run again, if their conditions are met: "+strings.Join(again, ", ")+".")
	}
	f.Facts = append(f.Facts, "Steps that succeeded, or whose repetition succeeded, do not run again. Their outputs are used.")
	f.Fields = []field{keyField()}
	return nil
}

func performResumeWorkflow(s *site, r *http.Request, f *form) (string, error) {
	var made api.RunView
	err := s.ops.Do(r, http.MethodPost, f.path()+"/retry?resume=true", keyFor(r, f, ""), nil, &made)
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status == http.StatusConflict {
		f.Error = problem.Detail
		return "", nil
	}
	return runLink(made.Ref) + "?done=resumed-workflow", err
}
