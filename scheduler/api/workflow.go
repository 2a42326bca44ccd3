package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// WorkflowView is a workflow in the form of the API.
type WorkflowView struct {
	Job   string     `json:"job"`
	ID    string     `json:"id,omitempty" doc:"The slot or id whose runs the steps show"`
	Steps []StepView `json:"steps" doc:"The jobs of the workflow. Each follows its parents"`
}

// StepView is a job of a workflow.
type StepView struct {
	Job      string      `json:"job"`
	After    []job.After `json:"after" doc:"Its parents; none for a job that starts the workflow"`
	Behind   bool        `json:"behind" doc:"It lies behind the job that was asked for"`
	Ref      string      `json:"run,omitempty" doc:"<job>/<slot or id>; missing if there is no record"`
	State    job.State   `json:"state,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Started  *time.Time  `json:"started,omitempty"`
	Finished *time.Time  `json:"finished,omitempty"`
}

// WorkflowRunsView has the latest runs of a workflow.
type WorkflowRunsView struct {
	Job   string            `json:"job"`
	Steps []string          `json:"steps" doc:"The jobs of the workflow. Each follows its parents"`
	Runs  []WorkflowRunView `json:"runs" doc:"The latest slot first"`
}

// WorkflowRunView has the runs of all steps with one slot or id.
type WorkflowRunView struct {
	ID    string              `json:"id" doc:"The slot, or the id of runs by hand"`
	Slot  time.Time           `json:"slot"`
	Kind  job.RunKind         `json:"kind"`
	Steps map[string]CellView `json:"steps" doc:"By job; a step without a record is absent"`
}

// CellView is the run of one step.
type CellView struct {
	State  job.State `json:"state"`
	Reason string    `json:"reason,omitempty"`
}

func (s *Server) registerWorkflows(doc huma.API) {
	register(s, doc, operation{
		id: "list-workflow-runs", right: auth.Read, method: "GET", path: "/v1/jobs/{job}/workflow/runs",
		summary: "The latest runs of the workflow that a job belongs to, step by step", errors: []int{404, 409},
	}, s.readWorkflowRuns)
	register(s, doc, operation{
		id: "read-workflow", right: auth.Read, method: "GET", path: "/v1/jobs/{job}/workflow",
		summary: "The workflow that a job belongs to", errors: []int{404, 409},
	}, s.readWorkflow)
}

func (s *Server) readWorkflow(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Slot string `query:"slot" doc:"A slot, or the id of a run by hand, whose runs the steps show" example:"2026-01-31T02:30:00Z"`
}) (*body[WorkflowView], error) {
	id := in.Slot
	if at, err := time.Parse(time.RFC3339Nano, id); err == nil {
		id = job.SlotID(at)
	}
	v, err := s.back.Replica.Workflow(ctx, in.Job, id)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	if sees := s.sees(ctx); sees != nil {
		v.Steps = slices.DeleteFunc(v.Steps, func(step StepView) bool { return !sees(step.Job) })
	}
	return &body[WorkflowView]{v}, nil
}

func (s *Server) readWorkflowRuns(ctx context.Context, in *struct {
	Job   string `path:"job"`
	Limit int    `query:"limit" default:"20" minimum:"1" maximum:"100"`
}) (*body[WorkflowRunsView], error) {
	v, err := s.back.Replica.WorkflowRuns(ctx, in.Job, in.Limit)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	if sees := s.sees(ctx); sees != nil {
		v.Steps = slices.DeleteFunc(v.Steps, func(name string) bool { return !sees(name) })
		for i := range v.Runs {
			maps.DeleteFunc(v.Runs[i].Steps, func(name string, _ CellView) bool { return !sees(name) })
		}
	}
	v.Steps, v.Runs = list(v.Steps), list(v.Runs)
	return &body[WorkflowRunsView]{v}, nil
}

// requireBehind returns an error unless the caller may operate every step behind a job. It names no step that the caller cannot
// see.
func (s *Server) requireBehind(ctx context.Context, name string) error {
	v, err := s.back.Replica.Workflow(ctx, name, "")
	if err != nil {
		return err
	}
	for _, step := range v.Steps {
		if !step.Behind {
			continue
		}
		switch status, detail := s.decide(ctx, auth.Operate, step.Job); status {
		case 0:
		case http.StatusNotFound:
			s.countRefusal(status)
			return huma.Error403Forbidden(fmt.Sprintf("job %s starts steps that your role does not cover", name))
		default:
			s.countRefusal(status)
			return huma.NewError(status, detail)
		}
	}
	return nil
}
