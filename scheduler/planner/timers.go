package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/keyed"
)

// timers is a heap of jobs by the time of their next decision. A job is in it at most once. Its position is in jobState.timer,
// counted from 1. The times are in the heap itself, so that an operation reads few jobs.
type timers struct{ heap []timer }

type timer struct {
	at  int64 // see instant
	job *jobState
}

func (t timer) before(o timer) bool {
	if t.at != o.at {
		return t.at < o.at
	}
	return t.job.priority() > o.job.priority()
}

// set sets the timer of j, or removes it if at is zero.
func (t *timers) set(j *jobState, at time.Time) {
	if at.IsZero() {
		if j.timer > 0 {
			t.remove(int(j.timer) - 1)
		}
		return
	}
	j.wake = job.Instant(at)
	if j.timer == 0 {
		t.heap = append(t.heap, timer{})
		j.timer = int32(len(t.heap))
	}
	t.fix(int(j.timer)-1, timer{j.wake, j})
}

// due removes and returns a job whose timer has expired, or nil if there is none.
func (t *timers) due(now time.Time) *jobState {
	if len(t.heap) == 0 || t.heap[0].at > job.Instant(now) {
		return nil
	}
	j := t.heap[0].job
	t.remove(0)
	return j
}

// first returns the earliest timer, false if there is none.
func (t *timers) first() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, t.heap[0].at).UTC(), true
}

func (t *timers) remove(i int) {
	t.heap[i].job.timer = 0
	last := popLast(&t.heap)
	if i < len(t.heap) {
		t.fix(i, last)
	}
}

// fix puts x at index i, or where it belongs.
func (t *timers) fix(i int, x timer) {
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(t.heap[parent]) {
			break
		}
		t.put(i, t.heap[parent])
		i = parent
	}
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			break
		}
		if next := child + 1; next < len(t.heap) && t.heap[next].before(t.heap[child]) {
			child = next
		}
		if !t.heap[child].before(x) {
			break
		}
		t.put(i, t.heap[child])
		i = child
	}
	t.put(i, x)
}

func (t *timers) put(i int, x timer) {
	t.heap[i] = x
	x.job.timer = int32(i + 1)
}

// earlyRuns holds the runs that are armed and not due yet, ordered by their due times. liveRun.inEarly says which of them are still
// there. The zero value is empty.
type earlyRuns struct{ heap keyed.Heap[*liveRun] }

func (e *earlyRuns) put(r *liveRun) {
	r.inEarly = true
	e.heap.Push(job.Instant(r.Due), r)
}

// remove removes r and reports whether it was there.
func (e *earlyRuns) remove(r *liveRun) bool {
	was := r.inEarly
	r.inEarly = false
	return was
}

// due removes and returns a run that has come due, or nil if there is none.
func (e *earlyRuns) due(now int64) *liveRun {
	for e.heap.Len() > 0 {
		if at, _ := e.heap.Min(); at > now {
			break
		}
		if _, r := e.heap.Pop(); e.remove(r) {
			return r
		}
	}
	return nil
}

// armingRuns holds the runs that decisions under way arm ahead of their time, ordered by their due times. jobState.arming says
// which of them are still there. The zero value is empty.
type armingRuns struct{ heap keyed.Heap[armingRun] }

type armingRun struct {
	job *jobState
	run *job.Run
}

func (a *armingRuns) put(j *jobState, r *job.Run) {
	j.arming = r
	a.heap.Push(job.Instant(r.Due), armingRun{j, r})
}

// remove removes r and reports whether it was there.
func (a *armingRuns) remove(j *jobState, r *job.Run) bool {
	was := j.arming == r
	if was {
		j.arming = nil
	}
	return was
}

// due removes and returns a run that has come due, or nil if there is none.
func (a *armingRuns) due(now int64) *job.Run {
	for a.heap.Len() > 0 {
		if at, _ := a.heap.Min(); at > now {
			break
		}
		if _, r := a.heap.Pop(); a.remove(r.job, r.run) {
			return r.run
		}
	}
	return nil
}

// popLast removes and returns the last element, and drops the heap's reference to it.
func popLast[S ~[]T, T any](h *S) T {
	var none T
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	return x
}
