package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// claim claims the attempt that the run was armed for. Whatever the error, the attempt does not begin, and its room is free
// again. job.ErrConflict means that the run is not ours to begin, errRearmed that it has been given to us anew. An attempt whose
// claim was not answered before the session was over is taken for claimed: it does not begin, and its record has to say so.
func (p *approach) claim() (*attempt, error) {
	s := p.s
	claimed, err := s.writeClaim(&p.run, p.spec, p.begins)
	if err == nil {
		return s.start(p.h, claimed, p.spec, p.begins), nil
	}
	s.vacate()
	if !errors.Is(err, job.ErrConflict) || !s.armed(&claimed) || claimed.Rev <= p.run.Rev {
		return nil, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if h := p.h; claimed.Rev > h.run.Rev {
		h.given = h.anew(claimed, s.w.now()) // the order that tells of it is on its way
	}
	return nil, errRearmed
}

// writeClaim writes that the attempt begins. With job.ErrConflict it returns the record as it stands.
func (s *shift) writeClaim(run *job.Run, spec *job.Spec, begins time.Time) (job.Run, error) {
	if s.over() {
		return *run, fmt.Errorf("claim run %s: %w", run.Name(), executor.ErrFenced)
	}
	asked := s.w.now()
	next, err := run.Claim(run.Rev, startOf(begins, asked, s.w.claimed.Add(1)-1))
	if err != nil {
		return *run, fmt.Errorf("claim run %s: %w", run.Name(), err)
	}
	next.Bound = spec.Bound()
	got, err := s.w.write(s.ctx, next)
	s.w.claims.note(asked, s.w.now())
	if !settled(err) { // the claim may be there, or come yet: the report is written in its place or behind it, and to no other attempt
		return next, nil
	}
	if errors.Is(err, job.ErrConflict) && got.State == job.Running && got.Token == next.Token && got.Started.Equal(next.Started) {
		// Ours: a first send was applied without our hearing. A claim by a copy of this order has another start.
		return got, nil
	}
	return got, err
}
