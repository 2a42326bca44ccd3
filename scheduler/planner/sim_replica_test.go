package planner_test

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// simReplica is one replica: a planner, its feed, and its decisions under way.
type simReplica struct {
	sim      *sim
	name     string
	keep     planner.Retention
	offset   time.Duration // the error of its clock
	planner  *planner.Planner
	fed      int   // how many changes of the log it has applied
	term     int64 // zero: it follows
	zombie   int   // steps until it learns that its term is over
	flights  []*flight
	feedFrom time.Time // the feed stands still until then
	heard    time.Time // when the feed had last brought everything
	known    map[recordKey]int64
	gate     *job.Gate // the gate that applies for its mirror; nil: none was readable since its start
}

// flight is a batch of decisions on its way to the store and back.
type flight struct {
	term     int64
	ds       []job.Decision
	applyAt  time.Time
	applied  []job.Applied // nil: not applied yet
	answerAt time.Time
}

func (r *simReplica) clock() time.Time { return r.sim.now.Add(r.offset) }

// up starts the replica with the content of the store, in random order.
func (r *simReplica) up() {
	if r.planner != nil {
		return
	}
	r.planner = planner.New(planner.Config{Retention: r.keep, ArmAhead: r.sim.ahead})
	r.fed, r.known = len(r.sim.store.log), make(map[recordKey]int64)
	r.flights, r.term, r.zombie, r.heard, r.gate = nil, 0, 0, r.sim.now, nil
	for _, c := range r.sim.store.snapshot() {
		r.apply(c)
	}
	if r.gate == nil {
		r.gate = &job.Gate{}
	}
}

// down kills the replica. Its requests may still arrive.
func (r *simReplica) down() {
	r.sim.log("%s crashes", r.name)
	r.planner = nil
}

// depose ends the replica's term. Each decision under way is answered with an error, as its outcome is unknown.
func (r *simReplica) depose() {
	r.sim.log("%s follows", r.name)
	for _, f := range r.flights {
		for i := range f.ds {
			r.planner.Resolve(f.ds[i], job.Applied{Err: errTermLost}, r.clock())
		}
	}
	r.orphan()
	r.term, r.zombie = 0, 0
	r.planner.Follow()
}

// orphan lets the decisions under way arrive without a receiver for their answers.
func (r *simReplica) orphan() {
	for _, f := range r.flights {
		f.ds = append([]job.Decision(nil), f.ds...)
		r.sim.check.orphans = append(r.sim.check.orphans, f)
	}
	r.flights = nil
}

func (r *simReplica) apply(c job.Change) {
	key := recordKey{c.Kind, c.Name}
	if c.Deleted() {
		delete(r.known, key)
	} else {
		r.known[key] = c.Rev
	}
	r.planner.Apply(r.mirrored(c), r.clock())
}

// catchUp applies the changes up to the given place in the log.
func (r *simReplica) catchUp(to int) {
	log := r.sim.store.log
	from := r.fed
	for ; r.fed < to; r.fed++ {
		r.apply(log[r.fed])
	}
	if from < to && r.sim.chance(0.02) { // the feed repeats them
		for _, c := range log[from:to] {
			r.planner.Apply(r.mirrored(c), r.clock())
		}
	}
}

// relist loses the watch, and applies the difference to the present content in random order.
func (r *simReplica) relist() {
	s := r.sim.store
	there := make(map[recordKey]bool)
	for _, c := range s.snapshot() {
		key := recordKey{c.Kind, c.Name}
		there[key] = true
		if r.known[key] != c.Rev {
			r.apply(c)
		}
	}
	for key := range r.known {
		if !there[key] {
			r.apply(job.Change{Kind: key.kind, Name: key.name, Rev: s.rev})
		}
	}
	r.fed = len(s.log)
}

func (r *simReplica) step() {
	if r.planner == nil {
		r.orphan()
		return
	}
	w := r.sim
	if r.term != 0 && w.leader != r && r.zombie == 0 {
		r.depose()
	}
	for range 3 { // an answer and its consequence occur in the same step
		r.receive()
		if r.fed == len(w.store.log) {
			r.heard = w.now
		}
		r.planner.SetFeedLag(w.now.Sub(r.heard))
		r.answers()
		r.plan()
	}
	if r.zombie > 0 {
		if r.zombie--; r.zombie == 0 {
			r.depose()
		}
	}
}

// receive applies some of the changes.
func (r *simReplica) receive() {
	w := r.sim
	if w.healed {
		r.catchUp(len(w.store.log))
		return
	}
	if w.now.Before(r.feedFrom) {
		return
	}
	// Whole revisions only.
	to := min(len(w.store.log), r.fed+w.n(30))
	for to > 0 && to < len(w.store.log) && w.store.log[to].Rev == w.store.log[to-1].Rev {
		to++
	}
	r.catchUp(to)
	if w.chance(0.1) {
		r.feedFrom = w.now.Add(w.upTo(simLag))
	}
	if w.chance(0.3) {
		r.catchUp(len(w.store.log))
	}
}

func (r *simReplica) answers() {
	now := r.sim.now
	var under []*flight
	for _, f := range r.flights {
		r.sim.land(f)
		if f.applied == nil || now.Before(f.answerAt) {
			under = append(under, f)
			continue
		}
		for i := range f.ds {
			r.planner.Resolve(f.ds[i], f.applied[i], r.clock())
		}
	}
	r.flights = under
}

// land lets a flight reach the store at its time.
func (w *sim) land(f *flight) {
	if f.applied != nil || w.now.Before(f.applyAt) {
		return
	}
	if !w.healed && w.chance(0.01) { // refused, as by a full store
		f.applied = make([]job.Applied, len(f.ds))
		for i := range f.applied {
			f.applied[i].Err = job.ErrFull
		}
		return
	}
	f.applied = w.store.commit(f.term, f.ds)
}

func (r *simReplica) plan() {
	w := r.sim
	ds := r.planner.Plan(r.clock(), 1+w.n(64))
	if next, ok := r.planner.Next(); len(ds) == 0 && ok && !next.After(r.clock()) {
		w.check.fail("%s at %v: Plan decides nothing, but Next wants a call at once", r.name, w.now)
	}
	for _, d := range ds {
		for _, f := range r.flights {
			for _, o := range f.ds {
				if o.Job == d.Job {
					w.check.fail("%s at %v: job %s has two decisions under way", r.name, w.now, d.Job)
				}
			}
		}
		if d.Cursor != nil {
			w.log("%s decides %s up to %v", r.name, d.Job, d.Cursor.After)
		}
	}
	if len(ds) == 0 {
		return
	}
	f := &flight{term: r.term, ds: ds, applyAt: w.now, answerAt: w.now}
	if !w.healed {
		f.applyAt = f.applyAt.Add(w.upTo(150 * time.Millisecond))
		f.answerAt = f.applyAt.Add(w.upTo(300 * time.Millisecond))
		if w.chance(0.01) {
			f.applyAt = f.applyAt.Add(w.upTo(4 * time.Second))
			f.answerAt = f.applyAt.Add(w.upTo(4 * time.Second))
		}
	}
	r.flights = append(r.flights, f)
}
