package worker

import (
	"context"
	"maps"
	"os"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Refuses returns what is broken so that the worker accepts no runs; nil if nothing is. The disk is full, is broken or does not
// answer, or the machine cannot start attempts. Pressure breaks nothing, and is no reason here. Executing attempts continue. If the
// journal cannot take their outcomes, the outcomes are sent from memory.
func (w *Worker) Refuses() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusesLocked()
}

// refusesLocked does the same as Refuses. w.mu is held.
func (w *Worker) refusesLocked() error {
	if w.diskErr != nil {
		return w.diskErr
	}
	return w.startErr
}

// refusal returns the reason for handing back armed runs; "" if the worker claims them.
func (w *Worker) refusal() refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.diskErr != nil:
		return errNoDisk
	case w.startErr != nil:
		return errCannotStart
	case w.pressed == memory:
		return errNoMemory
	case w.pressed == cpu:
		return errNoCPU
	}
	return ""
}

// startFailed records that the machine could not start an attempt. The worker accepts no runs until checkStart succeeds.
func (w *Worker) startFailed(err error) {
	w.mu.Lock()
	changed := w.startErr == nil
	w.startErr = err
	w.mu.Unlock()
	if changed {
		w.log.Error("worker accepts no runs, since an attempt could not start", "err", err)
	}
	w.suspectDisk() // wakes watchHealth, which publishes the presence
}

// checkStart checks whether attempts can start again. It does nothing if no start has failed.
func (w *Worker) checkStart() {
	w.mu.Lock()
	failed := w.startErr != nil
	w.mu.Unlock()
	if !failed {
		return
	}
	var err error
	if w.cfg.StartCheck != nil {
		err = w.cfg.StartCheck()
	}
	w.mu.Lock()
	w.startErr = err
	w.mu.Unlock()
	if err == nil {
		w.log.Info("attempts can start again, and the worker accepts runs")
	}
}

// OutputFails records why output cannot be uploaded, for the presence; nil: it can. Runs continue.
func (w *Worker) OutputFails(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	w.mu.Lock()
	changed := (w.outputTrouble == "") != (text == "")
	if changed {
		w.outputTrouble = text
	}
	w.mu.Unlock()
	if changed {
		w.suspectDisk() // wakes watchHealth, which publishes the presence
	}
}

// watchHealth checks the disk during the shift. After a failed start it also checks whether the machine can start attempts.
// When the result changes, it publishes the presence, and tries again until that succeeds.
func (s *shift) watchHealth() {
	for {
		every := probeEvery
		if s.w.Refuses() != nil || s.presenceOutdated() {
			every = unhealthyProbeEvery
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(every):
			s.w.checkStart()
		case <-s.w.probeSoon:
		}
		s.w.checkDisk(s.ctx)
		s.publishPresence()
	}
}

// presence returns the record that shows this worker to other processes.
func (w *Worker) presence() job.Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := job.Worker{
		Name: w.cfg.Name, Addr: w.cfg.Addr, Capacity: w.cfg.Capacity, Labels: w.cfg.Labels, Handlers: w.cfg.Handlers,
		Limits: w.cfg.Limits, Kinds: w.cfg.Kinds, Started: w.started, Version: w.cfg.Version, PID: os.Getpid(),
		Draining: w.refusesLocked() != nil || w.pressed != "", OutputTrouble: w.outputTrouble,
		Pressure: w.pressureText, Away: w.awayLocked(), TLSOptional: w.cfg.TLSOptional,
	}
	if err := w.refusesLocked(); err != nil {
		p.Broken = err.Error()
	}
	return p
}

// presence returns the record that shows the worker in this session.
func (s *shift) presence() job.Worker {
	p := s.w.presence()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	p.Session, p.Keeps, p.Draining = s.session.ID(), s.keeps, p.Draining || s.draining
	return p
}

// publishPresence writes the presence if the presence in the store may be outdated.
func (s *shift) publishPresence() {
	select {
	case s.publishing <- struct{}{}: // one at a time, so that the latest presence is written last
		defer func() { <-s.publishing }()
	case <-s.ctx.Done():
		return
	}
	if !s.presenceOutdated() {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, closeTimeout)
	defer cancel()
	w := s.presence()
	s.w.mu.Lock()
	again := s.presenceUncertain
	s.presenceUncertain = true
	s.w.mu.Unlock()
	if err := s.w.sessions.Update(ctx, s.session, w); err != nil {
		if !again && s.ctx.Err() == nil {
			s.w.log.Warn("presence could not be changed, trying again", "draining", w.Draining, "err", err)
		}
		return
	}
	s.w.mu.Lock()
	s.shown, s.presenceUncertain = w, false
	s.w.mu.Unlock()
}

// presenceOutdated reports whether the presence in the store may differ from the present one in what changes during a session.
func (s *shift) presenceOutdated() bool {
	now := s.presence()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.presenceUncertain || s.shown.Draining != now.Draining || s.shown.OutputTrouble != now.OutputTrouble ||
		s.shown.Pressure != now.Pressure || s.shown.Broken != now.Broken || !maps.Equal(s.shown.Away, now.Away)
}
