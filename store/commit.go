package store

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Commit writes a leader's decisions. It writes each decision completely or not at all. It calls done once for each
// decision, with its index, from any goroutine. ctx must be the term's context.
//
// Applied.Err is nil, job.ErrConflict (Applied then has the present records), or another definite refusal. It wraps the
// cause of ctx if the outcome or the present records are unknown. election.ErrTermLost means that nothing of this term
// is written from now on; an earlier unanswered sending may have been applied.
func (s *Store) Commit(ctx context.Context, term election.Term, ds []job.Decision, done func(int, job.Applied)) {
	g := s.led(ctx, term)
	ws := make([]*write, 0, len(ds))
	answer := func(w *write, out *written) { done(w.index, s.applied(&ds[w.index], out)) }
	for i := range ds {
		w, err := s.decision(&ds[i], term)
		if err != nil {
			done(i, job.Applied{Err: err})
			continue
		}
		w.index, w.done = i, answer
		ws = append(ws, w)
	}
	g.enqueue(ws...)
}

// decision returns the write of a decision.
func (s *Store) decision(d *job.Decision, term election.Term) (*write, error) {
	if term.Rev <= 0 { // 0 is the create revision of an absent key, so it would pass the guard
		return nil, election.ErrTermLost
	}
	w := newWrite(s.ids.next(), d.Job)
	w.patient = patientDecision(d)
	if d.JobRev != 0 {
		w.guards = append(w.guards, unchanged(s.keys.job(d.Job), d.JobRev))
	}
	if d.Run != nil {
		if err := s.decideRun(w, d, term); err != nil {
			return nil, err
		}
	}
	for _, step := range d.Behind {
		step.Term, step.Op = term.Rev, w.id
		if err := w.putRun(s.keys.run(step.Job, step.ID), 0, &step); err != nil {
			return nil, err
		}
	}
	if d.Cursor != nil {
		c := *d.Cursor
		c.Term, c.Op = term.Rev, w.id
		if err := w.put(s.keys.cursor(d.Job), c.Rev, &c); err != nil {
			return nil, err
		}
	}
	if d.Backfill != nil {
		b := *d.Backfill
		b.Term, b.Op = term.Rev, w.id
		if err := w.put(s.keys.record(KindBackfills, d.Job), b.Rev, &b); err != nil {
			return nil, err
		}
	}
	if d.Event != nil {
		e := *d.Event
		e.Term = term.Rev
		value, err := encode(e)
		if err != nil {
			return nil, err
		}
		w.putAnyway(s.keys.event(e.Job, e.ID), value, clientv3.NoLease)
	}
	for _, g := range d.Guards {
		w.guards = append(w.guards, unchanged(s.keys.record(g.Kind, g.Name), g.Rev))
		if g.Kind == KindRuns {
			w.probe = append(w.probe, s.keys.record(g.Kind, g.Name))
		}
	}
	for _, r := range d.Deletions {
		w.drop(s.keys.run(r.Job, r.ID), r.Rev)
	}
	return w, nil
}

func (s *Store) decideRun(w *write, d *job.Decision, term election.Term) error {
	r := *d.Run
	r.Term, r.Op = term.Rev, w.id
	if err := w.putRun(s.keys.run(r.Job, r.ID), r.Rev, &r); err != nil {
		return err
	}
	if r.State == job.Armed || d.Cursor != nil {
		w.gate = gateGuard{s.gateKey, d.Gate}
	}
	switch {
	case d.Stop:
		w.order = &handout{id: w.id, queue: s.keys.queue(r.Worker), session: r.Session, stop: r.Name()}
	case r.State == job.Armed:
		w.limits = r.Limits
		w.order = &handout{id: w.id, queue: s.keys.queue(r.Worker), session: r.Session, run: w.value, jobRev: d.JobRev}
	}
	return nil
}

// applied returns the result of d.
func (s *Store) applied(d *job.Decision, out *written) job.Applied {
	a := job.Applied{Rev: out.rev, Err: out.err}
	if d.Run != nil {
		c := found(out, KindRuns, d.Run.Name(), s.keys.run(d.Run.Job, d.Run.ID))
		a.Run, a.Unreadable = job.ValueOf[job.Run](c), c.Bad != nil
	}
	if d.Cursor != nil {
		c := found(out, KindCursors, d.Job, s.keys.cursor(d.Job))
		a.Cursor, a.BadCursor = job.ValueOf[job.Cursor](c), c.Bad != nil
	}
	if !errors.Is(out.err, job.ErrConflict) {
		return a
	}
	for _, g := range d.Guards {
		if g.Kind == KindRuns {
			c := found(out, g.Kind, g.Name, s.keys.record(g.Kind, g.Name))
			if c.Rev == 0 {
				c = g.Gone()
			}
			a.Guarded = append(a.Guarded, c)
		}
	}
	return a
}

// found decodes the record that a refused write found at key; the zero job.Change if there is none.
func found(out *written, kind Kind, name, key string) job.Change {
	kv := out.found[key]
	if kv == nil {
		return job.Change{}
	}
	return decode(kind, name, kv.value, kv.rev)
}

// PutNotifyState writes the state of a leader's messages about jobs, at most one record for each job. It calls done
// once for each record, from any goroutine, with its index and the revision at which it was written. A record's Rev is
// the revision that it replaces, zero if there must be none. err is job.ErrConflict if the record is at another
// revision, or the job is gone. Then rev is the revision of the record that exists, zero if there is none. Otherwise
// PutNotifyState behaves as Commit.
func (s *Store) PutNotifyState(
	ctx context.Context, term election.Term, list []job.NotifyState, done func(i int, rev int64, err error),
) {
	g := s.led(ctx, term)
	ws := make([]*write, 0, len(list))
	for i, t := range list {
		key := s.keys.record(KindNotifyState, t.Job)
		w := &write{id: s.ids.next(), lane: key}
		t.Op, t.Term = w.id, term.Rev
		if term.Rev <= 0 {
			done(i, 0, election.ErrTermLost)
			continue
		}
		w.guards = append(w.guards, exists(s.keys.job(t.Job)))
		if err := w.put(key, t.Rev, t); err != nil {
			done(i, 0, err)
			continue
		}
		w.done = func(_ *write, out *written) {
			if there := out.found[key]; there != nil {
				out.rev = there.rev
			}
			done(i, out.rev, out.err)
		}
		ws = append(ws, w)
	}
	g.enqueue(ws...)
}
