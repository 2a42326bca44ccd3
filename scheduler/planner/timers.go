package planner

import (
	"container/heap"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// timers is a heap of jobs by the time of their next decision. A job is in it at most once.
type timers struct{ heap wakeHeap }

// set sets the timer of j, or removes it if at is zero.
func (t *timers) set(j *jobState, at time.Time) {
	switch {
	case at.IsZero() && j.timer > 0:
		heap.Remove(&t.heap, int(j.timer)-1)
	case at.IsZero():
	case j.timer > 0:
		j.wake = at
		heap.Fix(&t.heap, int(j.timer)-1)
	default:
		j.wake = at
		heap.Push(&t.heap, j)
	}
}

// due removes and returns a job whose timer has expired, or nil if there is none.
func (t *timers) due(now time.Time) *jobState {
	if len(t.heap) == 0 || t.heap[0].wake.After(now) {
		return nil
	}
	return heap.Pop(&t.heap).(*jobState)
}

// first returns the earliest timer, false if there is none.
func (t *timers) first() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].wake, true
}

// wakeHeap keeps the position of each job in jobState.timer, counted from 1.
type wakeHeap []*jobState

func (h wakeHeap) Len() int { return len(h) }
func (h wakeHeap) Less(i, k int) bool {
	if c := h[i].wake.Compare(h[k].wake); c != 0 {
		return c < 0
	}
	return h[i].priority() > h[k].priority()
}
func (h wakeHeap) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].timer, h[k].timer = int32(i+1), int32(k+1)
}

func (h *wakeHeap) Push(x any) {
	j := x.(*jobState)
	*h = append(*h, j)
	j.timer = int32(len(*h))
}

func (h *wakeHeap) Pop() any {
	j := popLast(h)
	j.timer = 0
	return j
}

// earlyRuns holds runs that are not due yet, ordered by their due times. The zero value is empty.
type earlyRuns struct {
	heap dueHeap           // may still contain removed runs
	live map[*job.Run]bool // runs that were not removed
}

func (e *earlyRuns) put(r *job.Run) {
	if e.live == nil {
		e.live = make(map[*job.Run]bool)
	}
	e.live[r] = true
	heap.Push(&e.heap, r)
}

// remove removes r and reports whether it was there.
func (e *earlyRuns) remove(r *job.Run) bool {
	was := e.live[r]
	delete(e.live, r)
	return was
}

// due removes and returns a run that has come due, or nil if there is none.
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
func (h *dueHeap) Pop() any          { return popLast(h) }

// popLast removes and returns the last element, and drops the heap's reference to it.
func popLast[S ~[]T, T any](h *S) T {
	var none T
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	return x
}
