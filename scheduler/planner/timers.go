package planner

import (
	"container/heap"
	"time"
)

// timers is a heap of jobs by when they are to be looked at. A job is in it at most once.
type timers struct{ heap wakeHeap }

// set has j come due at the given time, or never if it is zero.
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

// due takes a job whose time has come, or returns nil.
func (t *timers) due(now time.Time) *jobState {
	if len(t.heap) == 0 || t.heap[0].wake.After(now) {
		return nil
	}
	return heap.Pop(&t.heap).(*jobState)
}

// first returns when the next job comes due.
func (t *timers) first() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].wake, true
}

// wakeHeap keeps in jobState.timer the position of each job, counted from 1.
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
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.timer = 0
	return j
}
