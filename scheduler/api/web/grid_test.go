package web

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestGridOffersToResumeFailedSteps(t *testing.T) {
	v := &api.WorkflowRunsView{Job: "b", Steps: []string{"a", "b", "c"}, Runs: []api.WorkflowRunView{
		{ID: "2026-01-31T02:30:00Z", Steps: map[string]api.CellView{
			"a": {State: job.Succeeded}, "b": {State: job.TimedOut, Reason: "exceeded 1m"}, "c": {State: job.Skipped},
		}},
		{ID: "r1", Kind: job.KindRetry, Steps: map[string]api.CellView{"b": {State: job.Running}}},
	}}
	d := gridOf(v)
	first, second := d.Rows[0].Cells, d.Rows[1].Cells
	if first[0].Resume != "" || first[2].Resume != "" || first[1].Resume != "/do/resume-workflow?job=b&run=2026-01-31T02%3A30%3A00Z" {
		t.Errorf("got %+v", first)
	}
	if second[0].State != "" || second[1].State != job.Running || second[1].Resume != "" || second[1].Link != "/runs/b/r1" {
		t.Errorf("got %+v", second)
	}
	for range 40 {
		v.Steps = append(v.Steps, "more")
	}
	if d := gridOf(v); len(d.Steps) != gridSteps || d.Unshown != 43-gridSteps || len(d.Rows[0].Cells) != gridSteps {
		t.Errorf("a wide workflow: got %d steps, %d not shown", len(d.Steps), d.Unshown)
	}
}
