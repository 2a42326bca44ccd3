package planner

import (
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// workerState is the state of one worker name over all its sessions.
type workerState struct {
	name     string
	present  *job.Worker       // nil: absent
	rev      int64             // of its record, readable or not; zero: there is none
	removed  bool              // its record is gone, and it may put it back: it counts as present, and gets no runs
	seen     bool              // this planner has seen it present
	assigned map[string]int    // number of its runs, by session
	early    map[string]int    // number of its runs that are not due yet, by session
	jobs     map[*jobState]int // number of its runs, by job

	reserved      int // decisions under way that assign it a run
	reservedEarly int // decisions under way that arm a run there ahead of its time

	turn int64 // number of its latest assignment; the lower, the longer ago
}

// room returns how many due runs may be assigned to the worker now. Runs that are armed ahead take no room from due runs.
func (w *workerState) room() int {
	if w.present == nil || w.removed {
		return 0
	}
	return w.present.Capacity - w.assigned[w.present.Session] + w.early[w.present.Session] - w.reserved - w.kept()
}

// kept returns how many places the runs of earlier sessions take, those included that are about to be taken back.
func (w *workerState) kept() (n int) {
	if len(w.present.Keeps) == 0 {
		return 0
	}
	for session, assigned := range w.assigned {
		if session != w.present.Session {
			n += assigned
		}
	}
	return n
}

// free returns how many more runs may be armed there ahead of their time.
func (w *workerState) free() int {
	if w.present == nil || w.removed {
		return -w.reservedEarly
	}
	return w.room() - w.early[w.present.Session] - w.reservedEarly
}

func (p *Planner) worker(name string) *workerState {
	w := p.workers[name]
	if w == nil {
		w = &workerState{name: name, assigned: make(map[string]int), early: make(map[string]int), jobs: make(map[*jobState]int)}
		p.workers[name] = w
	}
	return w
}

// forgetWorker removes an absent worker without runs.
func (p *Planner) forgetWorker(w *workerState) {
	if w.present == nil && len(w.assigned) == 0 && w.reserved == 0 && w.reservedEarly == 0 {
		delete(p.workers, w.name)
	}
}

func (p *Planner) applyWorker(c job.Change, now time.Time) {
	w, value := p.worker(c.Name), job.ValueOf[job.Worker](c)
	w.rev = c.Rev
	if c.Deleted() {
		w.rev = 0
	}
	_, doubted := p.doubtfulWorkers[w]
	switch {
	case c.Bad == nil && (value != nil || !w.mayReturn()):
		p.setPresence(w, value, now)
	case w.present == nil:
	case c.Bad == nil && !w.removed:
		p.doubtfulWorkers[w], w.removed = now.Add(p.cfg.RestoreGrace), true
	case c.Bad != nil && !doubted: // a live worker repairs its record within this time
		p.doubtfulWorkers[w] = now.Add(p.cfg.WorkerTTL)
	}
	p.checkRuns(w)
}

// checkRuns lets the jobs be decided whose runs w has, because these may be lost, now or soon. It forgets an absent worker without
// runs.
func (p *Planner) checkRuns(w *workerState) {
	for j := range w.jobs {
		p.markDirty(j)
	}
	p.forgetWorker(w)
}

// setPresence records that w is present with record; nil: that it is absent.
func (p *Planner) setPresence(w *workerState, record *job.Worker, now time.Time) {
	delete(p.doubtfulWorkers, w)
	was := w.present
	w.present, w.removed = record, false
	p.noteTurn(w, was, now)
	w.seen = w.seen || record != nil
}

// mayReturn reports whether the worker may still be alive if its record is removed. The record was removed because the lease
// expired, by a mistake of etcd (its issue 15247), or by hand. In the last two cases the worker puts it back.
func (w *workerState) mayReturn() bool {
	return w.present != nil && w.present.Session != job.SessionEnded
}

// expireDoubtful counts workers as absent whose record was not repaired or put back in time. A record that was overwritten by hand
// may have lost its lease; then it would never expire.
func (p *Planner) expireDoubtful(now time.Time) {
	for w, at := range p.doubtfulWorkers {
		if !now.Before(at) {
			p.setPresence(w, nil, now)
			p.checkRuns(w)
		}
	}
}

// nextDoubt returns when a doubtful worker next counts as absent; zero if there is none.
func (p *Planner) nextDoubt() (first time.Time) {
	for _, at := range p.doubtfulWorkers {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// presenceGuard is the guard that the presence of a worker is still as the planner knows it. It decides between a leader that gives
// up an attempt and a worker that puts its presence back. If the worker is first, the attempt goes on. Otherwise the worker learns
// it when it then reads the record of the run.
func (p *Planner) presenceGuard(worker string) job.Guard {
	g := job.Guard{Kind: job.RecordWorker, Name: worker}
	if w := p.workers[worker]; w != nil {
		g.Rev = w.rev
	}
	return g
}

// countAssigned adds r to the counts of its worker (n is 1) or removes it from them (n is -1).
func (p *Planner) countAssigned(j *jobState, r *liveRun, n int, now time.Time) {
	if r == nil || !r.assigned() {
		return
	}
	w := p.worker(r.Worker)
	add(w.assigned, r.Session, n)
	add(w.jobs, j, n)
	if n > 0 && r.State == job.Armed && r.Due.After(now) {
		p.early.put(r)
		add(w.early, r.Session, 1)
	}
	if n < 0 && p.early.remove(r) {
		add(w.early, r.Session, -1)
	}
	p.forgetWorker(w)
}

// countDue counts the runs that were armed ahead and have come due as due runs.
func (p *Planner) countDue(now time.Time) {
	at := job.Instant(now)
	for r := p.early.due(at); r != nil; r = p.early.due(at) {
		add(p.worker(r.Worker).early, r.Session, -1)
	}
	for r := p.arming.due(at); r != nil; r = p.arming.due(at) {
		w := p.worker(r.Worker)
		w.reservedEarly--
		w.reserved++
	}
}

func add[K comparable](counts map[K]int, key K, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// reserve takes the room that a decision under way about a run of j needs (n is 1), or gives it back (n is -1).
func (p *Planner) reserve(j *jobState, r *job.Run, n int) {
	if r == nil || r.State != job.Armed {
		return
	}
	w := p.worker(r.Worker)
	if n > 0 {
		p.turns++
		w.turn = p.turns
	}
	switch {
	case n > 0 && r.Due.After(r.Armed):
		p.arming.put(j, r)
		w.reservedEarly += n
	case n < 0 && p.arming.remove(j, r):
		w.reservedEarly += n
	default:
		w.reserved = max(0, w.reserved+n)
	}
	p.forgetWorker(w)
}

// present reports whether the worker of r is present and has r.
func (p *Planner) present(r *job.Run) bool {
	w := p.workers[r.Worker]
	return w != nil && w.present != nil && w.present.Has(r)
}

// lost reports whether the worker of r is gone, so that it will not end r.
func (p *Planner) lost(r *job.Run, now time.Time) bool {
	switch w := p.workers[r.Worker]; {
	case w != nil && w.present != nil:
		return !w.present.Has(r)
	case w != nil && w.seen: // this planner has seen it leave
		return true
	}
	// A worker that was absent from the start may be about to return, with outcomes in its journal.
	return !now.Before(p.leadSince.Add(p.cfg.ReturnGrace))
}

// choose returns the worker for a run of spec. It considers workers with room, and takes the one with the lowest avoidRank. A run
// that only one worker may execute gets no other. Between equal ranks, it takes the worker with the most room, and between those
// the one that has gone longest without a run. So equal workers share the runs evenly. A run that is due later gets free room
// only. nil means that no worker has room; accepted means that at least one accepts such runs.
func (p *Planner) choose(j *jobState, spec *job.Spec, r *job.Run, now time.Time) (best *job.Worker, accepted bool) {
	var most, lowest int
	var turn int64
	var returned []string
	if l := j.live.byID[r.ID]; l != nil {
		returned = l.returned
	}
	early := r.Due.After(now)
	for _, w := range p.workers {
		if w.present == nil || w.removed || r.On != "" && r.On != w.name || !w.present.Accepts(spec) {
			continue
		}
		accepted = true
		free := w.free()
		if w.room() <= 0 || early && free <= 0 {
			continue
		}
		rank := avoidRank(r, returned, w.name)
		better := best == nil || rank < lowest ||
			rank == lowest && (free > most || free == most && (w.turn < turn || w.turn == turn && w.name < best.Name))
		if better {
			best, most, lowest, turn = w.present, free, rank, w.turn
		}
	}
	return best, accepted
}

// suited reports whether a present worker would suit a spec if it accepted new runs. away: only a worker counts that accepts runs
// of other kinds.
func (p *Planner) suited(spec *job.Spec, away bool) bool {
	for _, w := range p.workers {
		if w.present != nil && !w.removed && w.present.Session != job.SessionEnded && !(away && w.present.Draining) &&
			w.present.Suits(spec) {
			return true
		}
	}
	return false
}

// avoidRank ranks a worker for r: the worker with the lowest rank gets the run. The record of a worker may show more room than
// it has, because attempts that it could not end still take room. So workers that handed r back come last, in the order in
// which they did so. Otherwise two of them might hand r back for ever while a third is idle.
func avoidRank(r *job.Run, returned []string, worker string) int {
	const lost = 1
	if r.Reason != "" && r.Reason == reasonNotStarted(worker) { // given back in this decision, or before this planner started
		return math.MaxInt
	}
	if i := slices.Index(returned, worker); i >= 0 {
		return lost + 1 + i
	}
	if slices.ContainsFunc(r.Attempts, func(a job.Attempt) bool { return a.Worker == worker && a.State == job.Lost }) {
		return lost
	}
	return 0
}
