package planner

import (
	"maps"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// jobState is what the planner knows of one job. There are many, and most of them rest: TestJobsAtRest bounds what one takes.
type jobState struct {
	name   string
	def    *job.Job           // nil: there is none (any more); the last one that was read, if nobody can read it
	when   *schedule.Schedule // nil: no slots of its own, or none that anybody understands
	cursor *job.Cursor        // nil: no slot has been decided yet
	live   liveRuns
	ended  *history // nil: none has ended, as of most jobs where there are very many

	wake       time.Time // when to look again, while timer > 0
	trouble    *trouble  // nil: none
	throttle   *throttle // nil: nothing but its time and want of room keeps a run from beginning
	timer      int32     // position in the heap, from 1
	unreadable bool      // there is a definition, but nobody can read it
	busy       bool      // a decision is under way
	dirty      bool      // in Planner.dirty
}

func (j *jobState) priority() int {
	if j.def == nil {
		return 0
	}
	return j.def.Spec.Priority
}

// obscure says whether nobody can read what r would execute now. It is not given out, and what was known last only says what
// becomes of an attempt that is lost.
func (j *jobState) obscure(r *job.Run) bool { return j.unreadable && r.Spec == nil }

// spec is what a run of this job executes: its own for an ad hoc run. nil if nobody knows.
func (j *jobState) spec(r *job.Run) *job.Spec {
	switch {
	case r.Spec != nil:
		return r.Spec
	case j.def != nil:
		return j.def.Spec
	}
	return nil
}

func (p *Planner) job(name string) *jobState {
	j := p.jobs[name]
	if j == nil {
		j = &jobState{name: name}
		p.jobs[name] = j
	}
	return j
}

// Expect makes room for n jobs, if none is known yet. It saves time where there are very many.
func (p *Planner) Expect(n int) {
	if len(p.jobs) == 0 {
		p.jobs = make(map[string]*jobState, n)
		p.dirty = make([]*jobState, 0, n)
		p.timers.heap = make(wakeHeap, 0, n)
	}
}

// Apply takes over one change of the store as of now. Changes of a record come in the order of their revisions; one that
// is older than what is known of a cursor or a run is passed over.
func (p *Planner) Apply(c job.Change, now time.Time) {
	p.seen = max(p.seen, c.Rev)
	switch c.Kind {
	case job.RecordJob:
		p.applyJob(c, now)
	case job.RecordCursor:
		p.applyCursor(c)
	case job.RecordRun:
		if name, id, err := job.ParseRunName(c.Name); err == nil {
			p.applyRun(name, id, c.Run, c.Rev, now)
		}
	case job.RecordWorker:
		p.applyWorker(c, now)
	case job.RecordLimit:
		p.applyLimit(c)
	case job.RecordGate:
		p.applyGate(c, now)
	}
}

func (p *Planner) applyGate(c job.Change, now time.Time) {
	p.gateRev = c.Rev
	if c.Deleted() {
		p.gateRev = 0
	}
	switch {
	case c.Gate != nil: // as it is, or what holds while nobody can read it
		p.gate = *c.Gate
	case c.Bad != nil:
		return // what we knew is still what was asked for
	case p.gate.Paused != nil: // deleted by hand: that resumes, too
		p.gate, _ = p.gate.Halt(nil, now)
	}
	for _, j := range p.jobs {
		p.touch(j)
	}
}

func (p *Planner) applyJob(c job.Change, now time.Time) {
	if c.Name == job.AdHoc { // its runs carry what they execute: somebody's hand
		return
	}
	j := p.job(c.Name)
	p.touch(j)
	j.calm()
	if j.unreadable && c.Bad == nil {
		j.note().missedBefore = now // nobody could dispatch meanwhile
	}
	old := j.def
	j.unreadable, j.when = c.Bad != nil, nil
	if !j.unreadable {
		j.def = c.Job
	}
	p.applyThrottle(j, old, now)
	p.misfit(c.Name, nil)
	if c.Job == nil {
		if c.Deleted() && j.cursor != nil && j.cursor.Rev == 0 {
			j.cursor = nil
		}
		p.forget(j)
		return
	}
	// Whether the schedule is another one is not asked: the job may have been made anew, or edited by hand. One that
	// cannot be parsed has no slots.
	when, err := policy.When(c.Name, c.Job.Spec)
	j.when = when
	j.cursor = j.trued(j.cursor)
	p.misfit(c.Name, err)
}

// misfit notes why nobody understands a job's schedule, nil if there is nothing to note.
func (p *Planner) misfit(name string, err error) {
	if _, known := p.misfits[name]; !known && err == nil {
		return
	}
	p.misfits = maps.Clone(p.misfits) // somebody may be reading it
	if err == nil {
		delete(p.misfits, name)
		return
	}
	if p.misfits == nil {
		p.misfits = make(map[string]error)
	}
	p.misfits[name] = err
}

// Misfits are the jobs whose schedule nobody understands, and why: they have no slots. What it returns does not change any
// more.
func (p *Planner) Misfits() map[string]error { return p.misfits }

// applyRun takes over a run's record; nil means that there is none that can be read.
func (p *Planner) applyRun(name, id string, r *job.Run, rev int64, now time.Time) {
	j := p.job(name)
	old := j.live.get(id)
	known := old
	if old == nil {
		known = j.ended.get(id)
	}
	if known != nil && rev <= known.Rev {
		return
	}
	p.touch(j)
	j.calm()
	p.hold(j, old, -1, now)
	p.occupy(known, r, now)
	p.observe(j, known, r, now)
	was := j.live.byID[id]
	j.live.remove(id)
	j.ended.remove(id)
	switch {
	case r == nil:
		p.unblock(j, &liveRun{Run: &job.Run{ID: id}}, now)
		p.forget(j)
	case r.State.Terminal():
		if j.ended == nil {
			j.ended = new(history)
		}
		j.ended.add(r)
		p.unblock(j, watch(was, r, now), now)
	default:
		j.live.put(watch(was, r, now))
		p.hold(j, r, 1, now)
	}
}

// unblock says what the end of the run for which a slot waits tells of that slot.
func (p *Planner) unblock(j *jobState, r *liveRun, now time.Time) {
	if j.told().blockedBy != r.ID {
		return
	}
	t := j.note()
	t.blockedBy = ""
	if r.State == job.Lost || troubled(r) {
		t.missedBefore = now
		return
	}
	// Slots before it began waited for it, too, but not because it was at work. What was claimed ahead of its time may have
	// ended before.
	t.missedBefore = job.Later(t.missedBefore, job.Earlier(r.first, now))
	t.overlapped = overlapped{run: r.ID, from: r.first, upTo: r.ended(now).Add(-j.delay(r))}
}

// troubled says whether r was late, never began, or lost a worker: then what waits for it does not wait by the job's own
// fault.
func troubled(r *liveRun) bool {
	return r.Late || r.first.IsZero() || r.LostAttempts() > 0
}

// delay is how much later than due r began. A slot that r would not have reached into, had it begun in time, waits by no
// fault of the job.
func (j *jobState) delay(r *liveRun) time.Duration {
	due := r.Due
	switch {
	case r.Kind == job.KindScheduled && j.when != nil:
		due = r.Slot.Add(j.when.Offset())
	case r.Attempt > 1: // Due is that of the present attempt
		due = r.first
	}
	return max(0, r.first.Sub(due))
}

// forget removes a job of which nothing is left.
func (p *Planner) forget(j *jobState) {
	if j.def == nil && !j.unreadable && j.cursor == nil && len(j.live.order) == 0 && j.ended.len() == 0 && !j.busy {
		p.timers.set(j, time.Time{})
		p.lack(j, 0)
		p.leaveQueues(j)
		delete(p.jobs, j.name)
	}
}
