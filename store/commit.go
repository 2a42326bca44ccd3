package store

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Commit writes a leader's decisions, each all or nothing, and calls done once for each, from any goroutine, with its
// index. Applied.Err is nil, job.ErrConflict (look at the records as they stand), another definite refusal, or it wraps
// the cause of ctx when the outcome is unknown, or the records as they stand are. election.ErrTermLost means that nothing
// of this term is written from now on; a sending before that, which was not answered, may have been. ctx is that of the
// term.
func (s *Store) Commit(ctx context.Context, term election.Term, ds []job.Decision, done func(int, job.Applied)) {
	g := s.led(ctx, term)
	ws := make([]*write, 0, len(ds))
	for i := range ds {
		w, err := s.decision(&ds[i], term)
		if err != nil {
			done(i, job.Applied{Err: err})
			continue
		}
		w.done = func(out *written) { done(i, s.applied(&ds[i], out)) }
		ws = append(ws, w)
	}
	g.enqueue(ws...)
}

// decision turns a decision into the write that it is.
func (s *Store) decision(d *job.Decision, term election.Term) (*write, error) {
	if term.Rev <= 0 { // the key of no term is absent, and so has this create revision
		return nil, election.ErrTermLost
	}
	w := &write{id: s.ops.next(), lane: d.Job}
	if d.JobRev != 0 {
		w.guards = append(w.guards, unchanged(s.keys.job(d.Job), d.JobRev))
	}
	if d.Run != nil {
		if err := s.decideRun(w, d, term); err != nil {
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
	if d.Event != nil {
		e := *d.Event
		e.Term = term.Rev
		value, err := encode(e)
		if err != nil {
			return nil, err
		}
		w.putAnyway(s.keys.event(e.Job, e.ID), value, clientv3.NoLease)
	}
	for _, r := range d.Deletions {
		w.drop(s.keys.run(r.Job, r.ID), r.Rev)
	}
	return w, nil
}

func (s *Store) decideRun(w *write, d *job.Decision, term election.Term) error {
	r := *d.Run
	r.Term, r.Op = term.Rev, w.id
	if err := w.put(s.keys.run(r.Job, r.ID), r.Rev, &r); err != nil {
		return err
	}
	if r.State == job.Armed || d.Cursor != nil {
		w.guards = append(w.guards, unchanged(s.keys.record(KindGate, ""), d.Gate))
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

// applied tells a leader what became of d.
func (s *Store) applied(d *job.Decision, out *written) job.Applied {
	a := job.Applied{Rev: out.rev, Err: out.err}
	if d.Run != nil {
		c := s.seen(out, KindRuns, d.Run.Name(), s.keys.run(d.Run.Job, d.Run.ID))
		a.Run, a.Unreadable = job.ValueOf[job.Run](c), c.Bad != nil
	}
	if d.Cursor != nil {
		c := s.seen(out, KindCursors, d.Job, s.keys.cursor(d.Job))
		a.Cursor, a.BadCursor = job.ValueOf[job.Cursor](c), c.Bad != nil
	}
	return a
}

// seen decodes a record that was found where a write was refused; the zero job.Change if there is none.
func (s *Store) seen(out *written, kind Kind, name, key string) job.Change {
	kv := out.seen[key]
	if kv == nil {
		return job.Change{}
	}
	return decode(kind, name, kv.value, kv.rev)
}
