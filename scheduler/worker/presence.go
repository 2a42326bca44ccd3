package worker

import (
	"context"
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

// brokenLocked returns the text of Refuses for the presence. w.mu is held.
func (w *Worker) brokenLocked() string {
	if err := w.refusesLocked(); err != nil {
		return err.Error()
	}
	return ""
}

// acceptsNoneLocked reports whether the worker accepts no runs, for whatever reason. w.mu is held.
func (w *Worker) acceptsNoneLocked() bool { return w.refusesLocked() != nil || w.pressed != "" }

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
	return job.Worker{
		Broken: w.brokenLocked(),
		Name:   w.cfg.Name, Addr: w.cfg.Addr, Capacity: w.cfg.Capacity, Labels: w.cfg.Labels, Handlers: w.cfg.Handlers,
		Limits: w.cfg.Limits, Kinds: w.cfg.Kinds,
		Started: w.started, Version: w.cfg.Version, PID: os.Getpid(), Draining: w.acceptsNoneLocked(),
		Pressure: w.pressureText, Away: w.awayLocked(), TLSOptional: w.cfg.TLSOptional,
	}
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
	w := s.w.presence()
	w.Session, w.Keeps = s.session.ID(), s.keeps
	s.w.mu.Lock()
	w.OutputTrouble = s.w.outputTrouble
	w.Draining = w.Draining || s.draining
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
	s.shownDraining, s.shownTrouble, s.shownPressure, s.presenceUncertain = w.Draining, w.OutputTrouble, w.Pressure, false
	s.shownBroken, s.shownAway = w.Broken, w.Away
	s.w.mu.Unlock()
}

// presenceOutdated reports whether leaders may have a wrong view of whether the worker accepts runs.
func (s *shift) presenceOutdated() bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.presenceUncertain || s.shownTrouble != s.w.outputTrouble || s.shownPressure != s.w.pressureText ||
		s.shownBroken != s.w.brokenLocked() || !s.showsKindsLocked() || s.shownDraining != (s.draining || s.w.acceptsNoneLocked())
}
