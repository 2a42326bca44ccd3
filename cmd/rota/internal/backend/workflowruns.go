package backend

import (
	"cmp"
	"context"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// WorkflowRuns returns the latest slots and ids of the workflow of a job, with the runs of all its jobs.
func (b *Backend) WorkflowRuns(_ context.Context, name string, limit int) (api.WorkflowRunsView, error) {
	if _, err := b.known(name); err != nil {
		return api.WorkflowRunsView{}, err
	}
	v := api.WorkflowRunsView{Job: name, Steps: b.graph(name).Workflow(name)}
	now, rows := b.present(), map[string]*api.WorkflowRunView{}
	for _, step := range v.Steps {
		b.mirror.Runs(step, store.Always, func(r *job.Run) bool {
			if !r.State.Terminal() && r.Attempt == 0 && r.Slot.After(now) {
				return false // armed ahead, or submitted for later
			}
			row := rows[r.ID]
			if row == nil {
				row = &api.WorkflowRunView{ID: r.ID, Slot: r.Slot, Kind: r.Kind, Steps: map[string]api.CellView{}}
				rows[r.ID] = row
			}
			row.Steps[step] = api.CellView{State: r.State, Reason: r.Reason}
			return false
		})
	}
	for _, row := range rows {
		v.Runs = append(v.Runs, *row)
	}
	slices.SortFunc(v.Runs, func(a, b api.WorkflowRunView) int { return cmp.Or(b.Slot.Compare(a.Slot), cmp.Compare(b.ID, a.ID)) })
	v.Runs = v.Runs[:min(limit, len(v.Runs))]
	return v, nil
}
