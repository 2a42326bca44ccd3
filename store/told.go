package store

import (
	"context"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutNotifyState writes what a leader has told about jobs, of each one at most one record, and calls done once for each, from any
// goroutine, with its index and the revision at which it was written. A record's Rev is the revision that it replaces, zero
// if there must be none. err is job.ErrConflict if it is otherwise, or the job is gone; then rev is that of the record which
// is there, readable or not, zero if there is none. The rest is as with Commit.
func (s *Store) PutNotifyState(ctx context.Context, term election.Term, list []job.NotifyState, done func(i int, rev int64, err error)) {
	g := s.led(ctx, term)
	ws := make([]*write, 0, len(list))
	for i, t := range list {
		key := s.keys.record(KindNotifyState, t.Job)
		w := &write{id: s.ops.next(), lane: key}
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
		w.done = func(out *written) {
			if there := out.seen[key]; there != nil {
				out.rev = there.rev
			}
			done(i, out.rev, out.err)
		}
		ws = append(ws, w)
	}
	g.enqueue(ws...)
}
