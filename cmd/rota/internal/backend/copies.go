package backend

import (
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// viewCopies returns the copies of a run on every worker, in the order of its workers; nil for any other run.
func (b *Backend) viewCopies(r *job.Run) (views []api.CopyView) {
	copies := b.copiesOf(r)
	for _, worker := range r.Copies {
		c := api.CopyView{Worker: worker, Ref: r.Job + "/" + r.CopyID(worker)}
		if of := copies[worker]; of != nil {
			c.State, c.Reason = of.State, of.Reason
		}
		views = append(views, c)
	}
	return views
}

// copiesOf returns the copies of a run on every worker, by the worker. The mirror may be a moment behind.
func (b *Backend) copiesOf(r *job.Run) map[string]*job.Run {
	copies := make(map[string]*job.Run, len(r.Copies))
	for _, worker := range r.Copies {
		if c, ok := b.mirror.Run(r.Job + "/" + r.CopyID(worker)); ok {
			copies[worker] = c
		}
	}
	return copies
}
