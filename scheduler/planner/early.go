package planner

import (
	"container/heap"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// earlyRuns are runs, by when their time comes. The zero value is empty.
type earlyRuns struct {
	heap dueHeap           // some of them are gone by now
	live map[*job.Run]bool // those that are not
}

func (e *earlyRuns) put(r *job.Run) {
	if e.live == nil {
		e.live = make(map[*job.Run]bool)
	}
	e.live[r] = true
	heap.Push(&e.heap, r)
}

// remove says whether r was there.
func (e *earlyRuns) remove(r *job.Run) bool {
	was := e.live[r]
	delete(e.live, r)
	return was
}

// due takes a run whose time has come, or returns nil.
func (e *earlyRuns) due(now time.Time) *job.Run {
	for len(e.heap) > 0 && !e.heap[0].Due.After(now) {
		if r := heap.Pop(&e.heap).(*job.Run); e.remove(r) {
			return r
		}
	}
	return nil
}

type dueHeap []*job.Run

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, k int) bool { return h[i].Due.Before(h[k].Due) }
func (h dueHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(*job.Run)) }
func (h *dueHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}
