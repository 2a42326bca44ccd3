package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

// How often it is looked whether the disk takes anything, while it does and while it does not, how long it may take to answer,
// and how much it has to take: room for the outcomes of a worker that is cut off from the store.
const (
	diskEvery    = 10 * time.Second
	fullEvery    = time.Second
	diskPatience = 5 * time.Second
	diskNeed     = 1 << 20
)

// Refuses returns why the worker takes nothing new, nil if it does: its disk is full or broken, or does not answer, or its machine
// lacks what it takes to begin an attempt. The outcome of what begins now might be safe nowhere. What executes goes on, and its
// outcome is sent from memory if need be.
func (w *Worker) Refuses() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refuses()
}

// refuses is Refuses. w.mu is held.
func (w *Worker) refuses() error {
	if w.disk != nil {
		return w.disk
	}
	return w.lacks
}

// watchDisk looks whether the disk takes anything, and whether what the machine lacked is there again, as long as the shift lasts,
// and tells leaders when that changes, until they have been told.
func (s *shift) watchDisk() {
	for {
		every := diskEvery
		if s.w.Refuses() != nil || s.untold() {
			every = fullEvery
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(every):
			s.w.tryStart()
		case <-s.w.suspect:
		}
		s.w.checkDisk(s.ctx)
		s.present()
	}
}

// checkDisk looks whether the disk takes anything, and returns when ctx ends at the latest, or diskPatience has passed. A look
// that has not come to its end by then is the next call's, too: one is under way at most. Run waits for it within bounds, since
// nothing ends what is stuck in the kernel.
func (w *Worker) checkDisk(ctx context.Context) {
	if w.looking == nil {
		looking := make(chan error, 1)
		w.wg.Go(func() { looking <- w.look() })
		w.looking = looking
	}
	patience := time.NewTimer(diskPatience)
	defer patience.Stop()
	var err error
	select {
	case err = <-w.looking:
		w.looking = nil
	case <-patience.C:
		err = fmt.Errorf("%w: %s", output.ErrNoAnswer, w.cfg.DataDir)
	case <-ctx.Done():
		return
	}
	w.mu.Lock()
	before := w.disk
	w.disk = err
	w.mu.Unlock()
	switch {
	case full(err) && !full(before):
		w.sweepSoon()
		w.log.Error("nothing new is taken, since the disk takes nothing: make room", "dir", w.cfg.DataDir, "err", err)
	case err != nil && before == nil:
		w.log.Error("nothing new is taken, since the disk does not answer", "dir", w.cfg.DataDir)
	case err == nil && before != nil:
		w.log.Info("the disk takes something again, and so does the worker", "dir", w.cfg.DataDir)
	}
}

// diskFull says whether the disk answers and takes nothing.
func (w *Worker) diskFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return full(w.disk)
}

// full says whether err, of a look at the disk, is that of one which answers and takes nothing.
func full(err error) bool { return err != nil && !errors.Is(err, output.ErrNoAnswer) }

// look says whether the disk takes anything, and returns when it answers: also to the journal, since the kernel may take for a
// while what is not synced.
func (w *Worker) look() error {
	if err := probe(filepath.Join(w.cfg.DataDir, "probe")); err != nil {
		return err
	}
	if err := w.keepLife(); err != nil || w.journal == nil {
		return err
	}
	return w.journal.answers()
}

// probe writes a file and removes it.
func probe(path string) error {
	err := os.WriteFile(path, make([]byte, diskNeed), 0o600)
	if gone := os.Remove(path); err == nil {
		err = gone
	}
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("the disk of %s takes nothing: %w", filepath.Dir(path), err)
}

// startNeed is how much room there is to be on the disk of a replica whose etcd starts, which sets two files of 64 MiB aside.
const startNeed = 128 << 20

// MakeRoom removes old output from the data directory dir if there is little room on its disk, as the worker does that is not
// there yet, and says how many files it has removed.
func MakeRoom(ctx context.Context, dir string, now time.Time) (removed int, err error) {
	if free, known := diskFree(dir); (!known || free >= startNeed) && probe(filepath.Join(dir, "probe")) == nil {
		return 0, nil
	}
	cfg := Config{DataDir: dir}.Defaults()
	return output.Sweep(ctx, cfg.outputs(), cfg.outputBounds().Half(), now)
}

// doubt has the disk looked at soon: the journal could not be written, or an attempt could not begin.
func (w *Worker) doubt() {
	select {
	case w.suspect <- struct{}{}:
	default: // it will be
	}
}

// present shows the worker to leaders as it is now: whether it takes anything. It does nothing if they have been told.
func (s *shift) present() {
	select {
	case s.presenting <- struct{}{}: // so that the last to look is the last to write
		defer func() { <-s.presenting }()
	case <-s.ctx.Done():
		return
	}
	if !s.untold() {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, closeTimeout)
	defer cancel()
	w := s.w.presence()
	w.Session = s.session.ID()
	s.w.mu.Lock()
	w.Draining = w.Draining || s.retiring
	again := s.unsure
	s.unsure = true
	s.w.mu.Unlock()
	if err := s.w.sessions.Update(ctx, s.session, w); err != nil {
		if !again && s.ctx.Err() == nil {
			s.w.log.Warn("presence could not be changed, trying again", "draining", w.Draining, "err", err)
		}
		return
	}
	s.w.mu.Lock()
	s.drains, s.unsure = w.Draining, false
	s.w.mu.Unlock()
}

// untold says whether leaders may think that the worker takes something and it does not, or the other way round.
func (s *shift) untold() bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.unsure || s.drains != (s.retiring || s.w.refuses() != nil)
}
