package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// jobState holds the state of one job. There may be a million jobs, most of them idle: TestIdleJobMemory bounds the size of
// one.
type jobState struct {
	name   string
	def    *job.Job           // nil: no such job; if its record is unreadable, the last readable definition
	when   *schedule.Schedule // nil: the job has no slots of its own, or its schedule cannot be parsed
	cursor *job.Cursor        // nil: no slot has been decided yet
	live   *liveRuns          // noRuns: no run has been live, as in most jobs of a large installation
	ended  *history           // nil: no run has ended

	wake         int64     // the latest timer, see instant
	arming       *job.Run  // the run that the decision under way arms ahead of its time; nil: none
	maybeTrouble *trouble  // nil: none; see the method trouble
	throttle     *throttle // nil: the job has no rate and no breaker, and waits for no limit
	timer        int32     // position in the heap of timers, from 1; zero: no timer
	unreadable   bool      // the record of the definition cannot be read
	busy         bool      // a decision is under way
	dirty        bool      // the job is in Planner.dirty
}

func (j *jobState) priority() int {
	if j.def == nil {
		return 0
	}
	return j.def.Spec.Priority
}

// unreadableSpec reports whether the spec that r would execute cannot be read. Then r is not assigned. The last readable
// spec is used only to decide about a lost attempt.
func (j *jobState) unreadableSpec(r *job.Run) bool { return j.unreadable && r.Spec == nil }

// spec returns the spec of r: its own spec if it is ad hoc, otherwise the job's. nil means unknown.
func (j *jobState) spec(r *job.Run) *job.Spec {
	switch {
	case r.Spec != nil:
		return r.Spec
	case j.def != nil:
		return j.def.Spec
	}
	return nil
}

// rev returns the revision of the definition that a decision to arm r depends on; zero if r has its own spec. The store
// refuses the decision if the definition has changed since or the job was paused.
func (j *jobState) rev(r *job.Run) int64 {
	if r.Spec != nil || j.def == nil {
		return 0
	}
	return j.def.Rev
}

// run returns the run of that id, ended or not; nil if there is none.
func (j *jobState) run(id string) *job.Run {
	live, ended := j.find(id)
	if live != nil {
		return live.Run
	}
	return ended
}

// find returns the run of that id. It has either not ended, or it has. Both results are nil if there is none.
func (j *jobState) find(id string) (live *liveRun, ended *job.Run) {
	if live = j.live.find(id); live != nil {
		return live, nil
	}
	return nil, j.ended.get(id)
}

// ownLive returns the live runs of j, to add one.
func (j *jobState) ownLive() *liveRuns {
	if j.live == noRuns {
		j.live = new(liveRuns)
	}
	return j.live
}

func (p *Planner) job(name string) *jobState {
	j := p.jobs[name]
	if j == nil {
		j = &jobState{name: name, live: noRuns}
		p.jobs[name] = j
	}
	return j
}

// forgetJob removes a job that has no records left.
func (p *Planner) forgetJob(j *jobState) {
	if j.def == nil && !j.unreadable && j.cursor == nil && j.live.none() && j.ended.len() == 0 && !j.busy {
		p.timers.set(j, time.Time{})
		p.setUnplaced(j, unplacedRuns{})
		p.leaveQueues(j)
		delete(p.late, j.name)
		delete(p.jobs, j.name)
	}
}

// Grow makes room for n jobs if no job is known yet. It speeds up the start with very many jobs.
func (p *Planner) Grow(n int) {
	if len(p.jobs) == 0 {
		p.jobs = make(map[string]*jobState, n)
		p.dirty = make([]*jobState, 0, n)
		p.timers.heap = make([]timer, 0, n)
	}
}
