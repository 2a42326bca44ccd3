package node

import (
	"context"
	"errors"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// endDeadWorkers ends the presence of each worker whose process is proven dead, so that its runs move before its lease expires.
// If the proof is wrong, the worker loses its session and opens a new one; fencing tokens protect its runs.
func (n *Node) endDeadWorkers(ctx context.Context, term election.Term) {
	election.WatchProcesses(ctx, election.ProcessWatch{
		Present: n.otherWorkers,
		End:     func(ctx context.Context, p election.Process) error { return n.endWorker(ctx, term, p) },
	})
}

// otherWorkers returns the processes of all workers except this node.
func (n *Node) otherWorkers() (list []election.Process) {
	for _, w := range n.mirror.Workers() {
		if w.Name != n.set.Node.Name {
			list = append(list, election.Process{Name: w.Name, Addr: w.Addr, Session: w.Session})
		}
	}
	return list
}

// endWorker ends the presence of the worker with process p, unless that presence has already ended.
func (n *Node) endWorker(ctx context.Context, term election.Term, p election.Process) error {
	w, ok := n.mirror.Worker(p.Name) // read the present record, because a worker that drains writes a new one
	if !ok || w.Session != p.Session {
		return nil
	}
	err := n.store.EndWorker(ctx, term, w)
	switch {
	case err == nil:
		n.log.Warn("the worker's process is dead, its runs move", "worker", p.Name)
	case !errors.Is(err, job.ErrConflict):
		n.log.Debug("the dead worker's presence was not ended", "worker", p.Name, "err", err)
	}
	return err
}
