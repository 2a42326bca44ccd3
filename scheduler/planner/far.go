package planner

import (
	"math"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/keyed"
)

// farAhead is from when on a delayed run is far in the future. No decision needs a run so early.
const farAhead = 5 * time.Minute

// farRuns holds the delayed runs of a job that are far in the future. Decisions do not visit them, so their cost does not depend on
// how many there are.
type farRuns struct {
	heap keyed.Heap[*liveRun] // by due time; liveRun.far says which of them are still here
	here int
}

// isFar reports whether a run only waits for its time, and that is far in the future.
func isFar(r *job.Run, now time.Time) bool {
	return r.Kind == job.KindDelayed && r.State == job.Pending && r.Attempt == 0 && r.Due.After(now.Add(farAhead)) &&
		r.On == "" && r.After == nil && r.Copies == nil && r.Approval == nil && r.Cancel == nil
}

// putFar adds a run that is far in the future.
func (s *liveRuns) putFar(r *liveRun) {
	if s.far == nil {
		s.far = new(farRuns)
	}
	r.far = true
	s.far.here++
	s.far.heap.Push(instant(r.Due), r)
}

// removeFar removes a run that putFar has added. It may stay in the heap until its time.
func (s *liveRuns) removeFar(r *liveRun) {
	f := s.far
	r.far = false
	if f.here--; f.here == 0 {
		s.far = nil
		return
	}
	if f.heap.Len() <= 2*f.here+fewRuns {
		return
	}
	old := f.heap
	f.heap = keyed.Heap[*liveRun]{}
	for old.Len() > 0 {
		if at, r := old.Pop(); r.far {
			f.heap.Push(at, r)
		}
	}
}

// approach moves up to most runs that come due by until to the runs that decisions visit.
func (s *liveRuns) approach(until int64, most int) {
	for s.far != nil && most > 0 {
		if at, _ := s.far.heap.Min(); at > until {
			return
		}
		if _, r := s.far.heap.Pop(); r.far {
			r.far = false
			s.insert(r)
			most--
			if s.far.here--; s.far.here == 0 {
				s.far = nil
			}
		}
	}
}

// orphansAtATime is how many runs of a deleted job are visited at a time.
const orphansAtATime = 1000

// approach makes the decisions about j visit the runs that are no longer far in the future. It sets the timer for the others. If
// the job was deleted, its runs end now, whatever their time.
func (p *Planner) approach(j *jobState, now time.Time) {
	if j.live.far == nil {
		return
	}
	if j.def == nil && !j.unreadable && j.name != job.AdHoc {
		j.live.approach(math.MaxInt64, orphansAtATime-len(j.live.order))
		return
	}
	j.live.approach(instant(now.Add(farAhead)), math.MaxInt)
	if far := j.live.far; far != nil {
		at, _ := far.heap.Min()
		p.wakeAt(j, time.Unix(0, at).Add(-farAhead/2)) // several runs at a time
	}
}
