package node

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/store"
)

// jobKnown returns a function that reports whether a job exists. It returns nil for a worker, which has no mirror of the jobs.
func (n *Node) jobKnown() func(name string) bool {
	if n.cfg.Role == WorkerOnly {
		return nil
	}
	return func(name string) bool {
		if !n.backend.Ready() {
			return true
		}
		_, ok := n.mirror.Job(name)
		return ok
	}
}

// storeCounts returns the counters of the store; zeros until there is a store.
func (n *Node) storeCounts() (c store.Counts) {
	if n.backend.Ready() {
		c = n.store.Counts()
	}
	return c
}

// countRuns returns the counts of the runs in the store. ok is false until there is a mirror.
func (n *Node) countRuns(now time.Time) (c store.RunCounts, ok bool) {
	if n.cfg.Role != Replica || !n.backend.Ready() {
		return c, false
	}
	return n.mirror.CountRuns(now), true
}

// status returns the status of the scheduler, the zero Status if there is none.
func (n *Node) status() (st scheduler.Status) {
	if n.cfg.Role == Replica && n.backend.Ready() {
		st = n.scheduler.Status()
	}
	return st
}

// jobResults returns a function that summarizes the jobs with metrics of their own; nil if no job has any.
func (n *Node) jobResults() func() (list []store.JobResult, left int, ok bool) {
	if n.cfg.Role == WorkerOnly || n.set.Metrics.Jobs == 0 {
		return nil
	}
	return func() (list []store.JobResult, left int, ok bool) {
		if !n.backend.Ready() {
			return nil, 0, false
		}
		list, left = n.mirror.Results(n.set.Metrics.Jobs)
		return list, left, true
	}
}
