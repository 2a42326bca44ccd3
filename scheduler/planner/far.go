package planner

import (
	"math"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// farAhead is from when on a delayed run is far in the future. No decision needs a run so early.
const farAhead = 5 * time.Minute

// isFar reports whether a due time is far in the future.
func isFar(due, now time.Time) bool { return due.After(now.Add(farAhead)) }

// putFar adds a run that is far in the future. The job must have no live run of the same id.
func (s *liveRuns) putFar(d *job.Delayed) {
	if s.far == nil {
		s.far = new(delayed.Runs)
	}
	s.far.Put(d)
}

// removeFar removes the run of that id, if it is far in the future.
func (s *liveRuns) removeFar(id string) {
	if s.far == nil {
		return
	}
	if s.far.Remove(id); s.far.Len() == 0 {
		s.far = nil
	}
}

// approach moves up to most runs that come due by until to the runs that decisions visit.
func (s *liveRuns) approach(until int64, most int, now time.Time) {
	var near []*job.Delayed
	for at, d := range s.far.Ascending() {
		if at > until || len(near) >= most {
			break
		}
		near = append(near, d)
	}
	for _, d := range near {
		s.removeFar(d.ID())
		s.insert(newLiveRun(nil, d.Run(), now))
	}
}

// applyFar applies the record of a run if it is far in the future, and was before or is new. Such a run takes part in no decision.
// It returns false for any other run, which applyRun must apply.
func (p *Planner) applyFar(j *jobState, d *job.Delayed, rev int64, now time.Time) bool {
	if !isFar(d.Due(), now) || j.live.byID[d.ID()] != nil || j.ended.get(d.ID()) != nil {
		return false
	}
	if was := j.live.far.Get(d.ID()); was != nil {
		if rev <= was.Rev() {
			return true
		}
		j.live.removeFar(d.ID())
	}
	p.markDirty(j)
	j.clearBackoff()
	j.ownLive().putFar(d)
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
	j.live.approach(job.Instant(now.Add(farAhead)), math.MaxInt, now)
	if at, ok := j.live.far.First(); ok {
		p.wakeAt(j, time.Unix(0, at).Add(-farAhead/2)) // several runs at a time
	}
}
