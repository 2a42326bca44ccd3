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
// how many there are. There may be a million, so each takes little memory, and shares it with the mirror.
type farRuns struct {
	byID map[string]*job.Delayed
	heap keyed.Heap[*job.Delayed] // by due time; also has runs that are no longer in byID
}

// isFar reports whether a due time is far in the future.
func isFar(due, now time.Time) bool { return due.After(now.Add(farAhead)) }

// get returns the run of that id; nil if it is not there.
func (f *farRuns) get(id string) *job.Delayed {
	if f == nil {
		return nil
	}
	return f.byID[id]
}

// putFar adds a run that is far in the future. The job must have no live run of the same id.
func (s *liveRuns) putFar(d *job.Delayed) {
	if s.far == nil {
		s.far = &farRuns{byID: make(map[string]*job.Delayed, 1)}
	}
	s.far.byID[d.ID()] = d
	s.far.heap.Push(instant(d.Due()), d)
}

// removeFar removes the run of that id, if it is far in the future. It may stay in the heap until its time.
func (s *liveRuns) removeFar(id string) {
	f := s.far
	if f.get(id) == nil {
		return
	}
	if delete(f.byID, id); len(f.byID) == 0 {
		s.far = nil
		return
	}
	if f.heap.Len() <= 2*len(f.byID)+fewRuns {
		return
	}
	f.heap = keyed.Heap[*job.Delayed]{}
	f.heap.Grow(len(f.byID))
	for _, d := range f.byID {
		f.heap.Push(instant(d.Due()), d)
	}
}

// approach moves up to most runs that come due by until to the runs that decisions visit.
func (s *liveRuns) approach(until int64, most int, now time.Time) {
	for s.far != nil && most > 0 {
		if at, _ := s.far.heap.Min(); at > until {
			return
		}
		_, d := s.far.heap.Pop()
		if s.far.byID[d.ID()] != d {
			continue
		}
		if delete(s.far.byID, d.ID()); len(s.far.byID) == 0 {
			s.far = nil
		}
		s.insert(newLiveRun(nil, d.Run(), now))
		most--
	}
}

// applyFar applies the record of a run if it is far in the future, and was before or is new. Such a run takes part in no decision.
// It returns false for any other run, which applyRun must apply.
func (p *Planner) applyFar(j *jobState, d *job.Delayed, rev int64, now time.Time) bool {
	if !isFar(d.Due(), now) || j.live.byID[d.ID()] != nil || j.ended.get(d.ID()) != nil {
		return false
	}
	if was := j.live.far.get(d.ID()); was != nil {
		if rev <= was.Rev() {
			return true
		}
		j.live.removeFar(d.ID())
	}
	p.markDirty(j)
	j.clearBackoff()
	j.live.putFar(d)
	return true
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
		j.live.approach(math.MaxInt64, orphansAtATime-len(j.live.order), now)
		return
	}
	j.live.approach(instant(now.Add(farAhead)), math.MaxInt, now)
	if far := j.live.far; far != nil {
		at, _ := far.heap.Min()
		p.wakeAt(j, time.Unix(0, at).Add(-farAhead/2)) // several runs at a time
	}
}
