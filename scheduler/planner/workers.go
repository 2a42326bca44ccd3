package planner

import (
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// workerState is what the planner knows of one worker name, through all its sessions.
type workerState struct {
	name     string
	present  *job.Worker       // nil: absent
	seen     bool              // it has been present as long as this planner looks
	held     map[string]int    // runs that are with it, by session
	early    map[string]int    // those of them whose time has not come
	jobs     map[*jobState]int // runs that are with it, by job
	reserved int               // decisions under way that give it a run

	reservedEarly int // decisions under way that give it a run ahead of its time
}

// room is how many runs may begin there now. What is armed ahead of its time keeps nothing that is due from its place.
func (w *workerState) room() int {
	if w.present == nil {
		return 0
	}
	return w.present.Capacity - w.held[w.present.Session] + w.early[w.present.Session] - w.reserved
}

// free is how many more runs may be armed there ahead of their time.
func (w *workerState) free() int { return w.room() - w.early[w.session()] - w.reservedEarly }

// session is the present one; "" if there is none.
func (w *workerState) session() string {
	if w.present == nil {
		return ""
	}
	return w.present.Session
}

func (p *Planner) worker(name string) *workerState {
	w := p.workers[name]
	if w == nil {
		w = &workerState{name: name, held: make(map[string]int), early: make(map[string]int), jobs: make(map[*jobState]int)}
		p.workers[name] = w
	}
	return w
}

// dismiss forgets a worker of which nothing is left.
func (p *Planner) dismiss(w *workerState) {
	if w.present == nil && len(w.held) == 0 && w.reserved == 0 && w.reservedEarly == 0 {
		delete(p.workers, w.name)
	}
}

func (p *Planner) applyWorker(c job.Change, now time.Time) {
	w := p.worker(c.Name)
	_, known := p.garbled[w]
	switch {
	case c.Bad == nil:
		delete(p.garbled, w)
		w.present = c.Worker
		w.seen = w.seen || c.Worker != nil
	case w.present != nil && !known: // its process puts the record right, if it lives
		p.garbled[w] = now.Add(p.cfg.WorkerTTL)
	}
	for j := range w.jobs { // their runs may be lost now, or will be
		p.touch(j)
	}
	p.dismiss(w)
}

// bury takes workers for absent whose record nobody has put right in time: a hand that wrote over it may have detached it from its
// lease, and then it outlives them.
func (p *Planner) bury(now time.Time) {
	for w, at := range p.garbled {
		if !now.Before(at) {
			p.applyWorker(job.Change{Name: w.name}, now)
		}
	}
}

// hold counts r as with its worker, n times: 1 or -1.
func (p *Planner) hold(j *jobState, r *job.Run, n int, now time.Time) {
	if r == nil || r.State != job.Armed && r.State != job.Running {
		return
	}
	w := p.worker(r.Worker)
	add(w.held, r.Session, n)
	add(w.jobs, j, n)
	if n > 0 && r.State == job.Armed && r.Due.After(now) {
		p.early.put(r)
		add(w.early, r.Session, 1)
	}
	if n < 0 && p.early.remove(r) {
		add(w.early, r.Session, -1)
	}
	p.dismiss(w)
}

// ripen counts the runs that were armed ahead, and whose time has come, as all others.
func (p *Planner) ripen(now time.Time) {
	for r := p.early.due(now); r != nil; r = p.early.due(now) {
		add(p.worker(r.Worker).early, r.Session, -1)
	}
	for r := p.leaving.due(now); r != nil; r = p.leaving.due(now) {
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

// reserve counts a decision that arms a run as room taken, until it is settled.
func (p *Planner) reserve(r *job.Run, n int) {
	if r == nil || r.State != job.Armed {
		return
	}
	w := p.worker(r.Worker)
	switch {
	case n > 0 && r.Due.After(r.Armed):
		p.leaving.put(r)
		w.reservedEarly += n
	case n < 0 && p.leaving.remove(r):
		w.reservedEarly += n
	default:
		w.reserved = max(0, w.reserved+n)
	}
	p.dismiss(w)
}

// present says whether the worker that has r is there, in the session that was given r.
func (p *Planner) present(r *job.Run) bool {
	w := p.workers[r.Worker]
	return w != nil && w.present != nil && w.present.Session == r.Session
}

// lost says whether the worker that has r cannot be expected to end it any more.
func (p *Planner) lost(r *job.Run, now time.Time) bool {
	switch w := p.workers[r.Worker]; {
	case w != nil && w.present != nil:
		return w.present.Session != r.Session
	case w != nil && w.seen: // we saw it go
		return true
	}
	// A worker that has been absent ever since we look may be about to return, with outcomes in its journal.
	return !now.Before(p.leadSince.Add(p.cfg.ReturnGrace))
}

// choose returns the worker for a run of spec: the one with most room, but not again one that the run was lost with or that
// had it and did not begin it, if there is another. nil if none has room; anybody says whether there is one that accepts such
// runs at all. A run whose time has not come gets free room only.
func (p *Planner) choose(j *jobState, spec *job.Spec, r *job.Run, now time.Time) (best *job.Worker, anybody bool) {
	var most, avoid int
	var returned []string
	if l := j.live.byID[r.ID]; l != nil {
		returned = l.returned
	}
	early := r.Due.After(now)
	for _, w := range p.workers {
		if w.present == nil || !w.present.Accepts(spec) {
			continue
		}
		anybody = true
		free := w.free()
		if w.room() <= 0 || early && free <= 0 {
			continue
		}
		shun := shuns(r, returned, w.name)
		better := best == nil || shun < avoid ||
			avoid == shun && (free > most || free == most && w.name < best.Name)
		if better {
			best, most, avoid = w.present, free, shun
		}
	}
	return best, anybody
}

// shuns says how little a worker is wanted for r, which others have returned; 0 if there is nothing against it. A worker may
// have less room than its record says, since what it could not end occupies it: so those that did not begin r come last, and
// among them the one that had it last, or else two of them might hand it back for ever while a third idles.
func shuns(r *job.Run, returned []string, worker string) int {
	const lost = 1
	if r.Reason != "" && r.Reason == didNotBegin(worker) { // in this very decision, or before we looked
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
