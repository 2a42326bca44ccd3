package worker

import (
	"context"
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// approach is one time that a held run is brought to its claim. It is another one if the run is given to us anew.
type approach struct {
	given
	s      *shift
	h      *hold
	ctx    context.Context // ends the waiting
	spec   *job.Spec       // shared
	begins time.Time       // the attempt, not before
}

// attend brings a held run to its claim and what follows, or hands it back.
func (s *shift) attend(h *hold) {
	p := s.renew(h)
	wait, err := p.prepare()
	if err != nil || wait <= 0 {
		p.arrive(err)
		return
	}
	s.w.table.after(p.ctx, wait, func() { p.arrive(nil) })
}

// arrive claims a held run, if it may be, and begins the attempt. err is why it may not, as far as that is known. It is called when
// it is time, and when the waiting was ended.
func (p *approach) arrive(err error) {
	s, run := p.s, &p.run
	var a *attempt
	if err == nil {
		err = p.enter()
	}
	if err == nil {
		a, err = p.claim()
	}
	var why refusal
	switch {
	case s.ctx.Err() != nil, fenced(err), err == nil, errors.Is(err, errRearmed):
	case errors.Is(err, job.ErrConflict), errors.Is(err, job.ErrUnreadable): // it was changed by somebody else, as is anybody's right
		s.w.log.Debug("run was changed before it began", "run", run.Name(), "attempt", run.Attempt, "err", err)
		s.w.cfg.Observer.Conflicted(run)
	case errors.Is(err, job.ErrNotFound):
		s.cancelDeleted(*run)
	case errors.As(err, &why):
		s.recall(*run, string(why))
	default:
		s.w.log.Error("run cannot begin", "run", run.Name(), "attempt", run.Attempt, "err", err)
	}
	if again := !s.release(p.h, run.Rev); again { // given anew, maybe while we heard that it is ours: that is another attempt
		s.w.table.start(func() { s.attend(p.h) })
	}
	if a != nil {
		s.w.begin(a)
	}
}

// renew begins to wait for what h holds now. The wait ends with the shift, and by wake.
func (s *shift) renew(h *hold) *approach {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	h.wake(nil)
	p := &approach{given: h.given, s: s, h: h}
	p.ctx, h.interrupt = context.WithCancelCause(s.ctx)
	if h.stopped > h.run.Rev {
		h.interrupt(errStopped)
	}
	if s.retiring {
		h.interrupt(errRetiring)
	}
	return p
}

// prepare finds out what the run is to do and when, and returns how long it is until it may be claimed.
func (p *approach) prepare() (wait time.Duration, err error) {
	s := p.s
	if p.spec, err = s.definition(p.ctx, &p.run, p.jobRev); err != nil {
		return 0, err
	}
	p.begins = s.w.beginning(&p.run, p.received)
	return p.begins.Sub(s.w.now()) - s.early(&p.given, p.spec), nil
}

// enter takes room for the attempt, which the caller then owns.
func (p *approach) enter() error {
	s := p.s
	if p.ctx.Err() != nil { // whatever else is ready
		return context.Cause(p.ctx)
	}
	if s.w.changed(&p.given) {
		return errChanged
	}
	err := s.awaitRoom(p.ctx, p.begins)
	if p.run.Ahead && !s.w.now().Before(p.begins) {
		p.run.Ahead = false // its time has come: handed back, it is dispatched again, and not decided anew
	}
	if err != nil {
		return err
	}
	s.w.count(&s.w.executing, 1)
	if p.ctx.Err() != nil { // whoever drains, and has not seen that we execute, has ended the wait before
		s.vacate()
		return context.Cause(p.ctx)
	}
	return nil
}

// awaitRoom takes room for an attempt that begins then, and waits for it for a while after that.
func (s *shift) awaitRoom(ctx context.Context, begins time.Time) error {
	if why := s.w.refusal(); why != "" {
		return why
	}
	select {
	case s.w.room <- struct{}{}:
		return nil
	default:
	}
	full := time.NewTimer(max(0, begins.Sub(s.w.now())) + s.w.cfg.RoomTimeout)
	defer full.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case s.w.room <- struct{}{}:
		return nil
	case <-full.C:
		return errNoRoom
	}
}

// changed says whether the definition from which a run was armed ahead of its time is known to be another one by now. Then the
// run is to be decided anew, by whoever leads next if nobody does.
func (w *Worker) changed(g *given) bool {
	if w.cfg.Known == nil || g.jobRev == 0 || !g.run.Due.After(g.run.Armed) {
		return false
	}
	j, known := w.cfg.Known(g.run.Job, g.jobRev)
	return known && j.Rev > g.jobRev
}

// definitionTimeout is how long the definition of a run's job may take to be read before the run is handed back.
const definitionTimeout = 5 * time.Second

// definition reads what the run is to do: job.ErrNotFound if there is nothing any more, errNoSpec if it takes too long.
func (s *shift) definition(ctx context.Context, run *job.Run, rev int64) (*job.Spec, error) {
	if spec := s.w.definitions.atHand(run, rev, s.w.now()); spec != nil {
		return spec, nil
	}
	limit, cancel := context.WithTimeoutCause(ctx, definitionTimeout, errNoSpec)
	defer cancel()
	pauses := newPauses()
	for {
		spec, err := s.w.definitions.spec(limit, run, rev, s.w.now())
		if err == nil || errors.Is(err, job.ErrNotFound) {
			return spec, err
		}
		s.w.log.Debug("definition is not there yet", "run", run.Name(), "err", err)
		if err := pause(limit, pauses.NextBackOff()); err != nil {
			return nil, err
		}
	}
}
