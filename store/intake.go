package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Intake creates the runs of submissions, within two bounds: of the runs that await their start in one job, and in all. The bounds
// are exact with any number of processes: no transaction creates a run beyond a bound, however old the mirrors are.
//
// Each bound has a gate, a key in the store. While the gate is open, the key is absent. A submission then compares only that it is
// absent. A process uses an open gate only if its mirror shows at most half of the bound, and if few of its own submissions are
// missing in its mirror. All processes together then stay within the other half, even if none of them sees the others.
//
// Beyond that, a process closes the gate: it creates the key, and waits until its mirror shows the key. From then on the mirror
// shows every submission that found the gate open. A submission through a closed gate replaces the key, and compares the revision
// that the mirror shows. So one submission after the other takes place, each with an exact count. If at most a quarter of the bound
// is left, such a submission removes the key.
type Intake struct {
	store  *Store
	mirror *Mirror
	all    int // bound in all jobs

	mu     sync.Mutex
	gates  map[string]*gate // guarded by mu, by name
	unused []string         // guarded by mu: gates whose last user left, the earliest first; some have users again
}

// NewIntake returns an Intake that admits at most all runs that await their start.
func NewIntake(s *Store, m *Mirror, all int) *Intake {
	return &Intake{store: s, mirror: m, all: all, gates: make(map[string]*gate)}
}

// TooManyError says that a bound is reached. It is a job.ErrTooMany.
type TooManyError struct {
	Job string // empty: the bound of all jobs
	Max int
}

func (e *TooManyError) Error() string {
	if e.Job == "" {
		return fmt.Sprintf("%d submitted runs wait already, as many as the cluster accepts", e.Max)
	}
	return fmt.Sprintf("%d submitted runs of job %s wait already, as many as it accepts", e.Max, e.Job)
}

// Is makes the error a job.ErrTooMany.
func (e *TooManyError) Is(target error) bool { return target == job.ErrTooMany }

// TakenError says that a submission found a run of a step behind it. It is a job.ErrConflict.
type TakenError struct{ Run string }

func (e *TakenError) Error() string { return "run " + e.Run + " exists already" }

// Is makes the error a job.ErrConflict.
func (e *TakenError) Is(target error) bool { return target == job.ErrConflict }

// Submit creates r if fewer than most runs of its job await their start. The results are those of Store.Submit; the error is a
// TooManyError if a bound is reached. behind are the steps of a workflow that r starts, which count together with r as one run.
func (in *Intake) Submit(ctx context.Context, r job.Run, most int, behind ...job.Run) (job.Run, error) {
	ps := []*passage{{name: r.Job, max: most}, {name: allGate, max: in.all}}
	in.enter(ps)
	defer in.leave(ps)
	for open := false; ; {
		made, again, err := in.attempt(ctx, r, behind, ps, &open)
		if !again || err != nil {
			return made, perhapsOwn(err, open)
		}
	}
}

// attempt tries one submission. again is true if a gate has changed meanwhile. It sets open if a sending was not answered.
func (in *Intake) attempt(
	ctx context.Context, r job.Run, behind []job.Run, ps []*passage, open *bool,
) (made job.Run, again bool, err error) {
	defer in.release(ps)
	if err := in.takeTurns(ctx, ps); err != nil {
		return r, false, err
	}
	w := &write{id: in.store.ids.next(), lane: r.Job}
	if err := in.store.putRuns(w, &r, behind); err != nil {
		in.settle(ps, 0, false)
		return r, false, err
	}
	for _, p := range ps {
		key := in.store.keys.record(KindIntake, p.name)
		switch {
		case p.open:
			w.guards = append(w.guards, absent(key))
		case p.found.rev == 0:
			in.settle(ps, 0, false)
			return r, true, in.closeGate(ctx, key)
		default:
			w.limits = append(w.limits, key) // two changes of one gate never share a transaction
			if err := in.pass(w, key, p); err != nil {
				in.settle(ps, 0, false)
				return r, false, err
			}
		}
	}
	out, err := in.store.free.do(ctx, w)
	conflict := errors.Is(err, job.ErrConflict)
	*open = *open || conflict && w.open
	in.settle(ps, out.rev, err != nil && !conflict)
	switch {
	case err == nil:
		r.Rev = out.rev
		if !ps[0].open || !ps[1].open { // otherwise the next submission would find the gate changed
			_ = in.mirror.WaitFor(ctx, out.rev)
		}
		return r, false, nil
	case !conflict:
		return r, false, fmt.Errorf("write run %s: %w", r.Name(), err)
	case out.found[w.probe[0]] == nil:
		if step := in.taken(out, behind); step != "" {
			return job.Run{}, false, &TakenError{Run: step}
		}
		return r, true, in.mirror.WaitFor(ctx, out.foundAt) // a gate has changed
	}
	if there := job.ValueOf[job.Run](found(out, KindRuns, r.Name(), w.probe[0])); there != nil {
		return *there, false, err
	}
	return job.Run{}, false, err
}

// taken returns the name of a step that a refused write found; "" if it found none.
func (in *Intake) taken(out *written, behind []job.Run) string {
	for i := range behind {
		if out.found[in.store.keys.run(behind[i].Job, behind[i].ID)] != nil {
			return behind[i].Name()
		}
	}
	return ""
}

// closeGate creates the key of a gate, and waits until the mirror shows it or what another process wrote.
func (in *Intake) closeGate(ctx context.Context, key string) error {
	w := &write{id: in.store.ids.next(), lane: key}
	if err := w.put(key, 0, &intakeGate{Op: w.id}); err != nil {
		return err
	}
	out, err := in.store.free.do(WithoutAudit(ctx), w) // the record belongs to the submission
	switch {
	case err == nil:
		return in.mirror.WaitFor(ctx, out.rev)
	case errors.Is(err, job.ErrConflict):
		return in.mirror.WaitFor(ctx, out.foundAt)
	}
	return fmt.Errorf("write %s: %w", key, err)
}

// pass adds to w the change of a closed gate.
func (in *Intake) pass(w *write, key string, p *passage) error {
	if p.found.waiting <= p.max/4 {
		w.drop(key, p.found.rev)
		return nil
	}
	return w.put(key, p.found.rev, &intakeGate{Op: w.id})
}

func (in *Intake) enter(ps []*passage) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range ps {
		if p.gate = in.gates[p.name]; p.gate == nil {
			p.gate = &gate{turn: make(chan struct{}, 1)}
			in.gates[p.name] = p.gate
		}
		p.gate.users++
	}
}

func (in *Intake) leave(ps []*passage) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range ps {
		if p.gate.users--; p.gate.users == 0 && !p.gate.unused && p.name != allGate { // the gate of all jobs stays
			p.gate.unused, in.unused = true, append(in.unused, p.name)
		}
	}
	in.forgetLocked()
}

// forgetLocked removes the gates without users whose submissions the mirror shows.
func (in *Intake) forgetLocked() {
	for rev, _ := in.mirror.Current(); len(in.unused) > 0; in.unused = in.unused[1:] {
		g := in.gates[in.unused[0]]
		if g.users == 0 {
			if g.prune(rev); g.inFlight > 0 || len(g.unseen) > 0 {
				return
			}
			delete(in.gates, in.unused[0])
		}
		g.unused = false
	}
}

// takeTurns decides for each gate whether it is open, and takes the token of a closed one. It returns a TooManyError if a bound is
// reached.
func (in *Intake) takeTurns(ctx context.Context, ps []*passage) error {
	for {
		waits, err := in.decide(ps)
		if err != nil || waits == nil {
			return err
		}
		if waits == ps[0] { // all submissions take the tokens in this order, so that none waits for another in a circle
			in.release(ps)
		}
		select {
		case waits.gate.turn <- struct{}{}:
			waits.turn = true
		case <-ctx.Done():
			return fmt.Errorf("not sent: %w", context.Cause(ctx))
		}
	}
}

// decide looks at the gates as of one revision of the mirror. It returns the first closed gate without a token; nil if there is
// none. Then it has counted the submission at the open gates.
func (in *Intake) decide(ps []*passage) (waits *passage, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	rev, share := in.look(ps)
	for _, p := range ps {
		p.gate.prune(rev)
		missing := p.gate.inFlight + len(p.gate.unseen)
		p.open = p.found.rev == 0 && 2*p.found.waiting <= p.max && 2*share*(missing+1) <= p.max
		if !p.open && p.found.waiting >= p.max {
			return nil, &TooManyError{Job: p.jobName(), Max: p.max}
		}
		if !p.open && !p.turn && waits == nil {
			waits = p
		}
	}
	if waits == nil {
		for _, p := range ps {
			if p.open {
				p.gate.inFlight++
			}
		}
	}
	return waits, nil
}

// look reads what the mirror shows about the gates, all as of revision rev.
func (in *Intake) look(ps []*passage) (rev int64, share int) {
	m := in.mirror
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range ps {
		p.found = gateView{waiting: m.tally.submitted[p.name], rev: m.records[KindIntake][p.name].rev}
		if p.name == allGate {
			p.found.waiting = m.tally.awaiting
		}
	}
	return m.rev, max(openShare, len(m.records[KindReplicas])+2)
}

// settle ends the count of a submission at the open gates. rev is the revision at which it was written, 0 if it was not. unknown
// means that it may still be written.
func (in *Intake) settle(ps []*passage, rev int64, unknown bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range ps {
		if !p.open {
			continue
		}
		p.gate.inFlight--
		switch {
		case unknown:
			p.gate.unseen = append(p.gate.unseen, unseen{rev: math.MaxInt64, until: time.Now().Add(doubt)})
		case rev != 0:
			p.gate.unseen = append(p.gate.unseen, unseen{rev: rev})
		}
	}
}

// release returns the tokens.
func (in *Intake) release(ps []*passage) {
	for _, p := range ps {
		if p.turn {
			<-p.gate.turn
			p.turn = false
		}
	}
}
