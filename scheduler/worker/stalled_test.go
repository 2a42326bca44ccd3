package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/poll"
)

// stalled is a worker that runs in real time. In a bubble, a goroutine that waits in the kernel would stop the clock.
type stalled struct {
	*rig
	worker *Worker
	stop   context.CancelFunc
	ended  chan error // result of Run
}

func startStalled(t *testing.T, r *rig) *stalled {
	t.Helper()
	s := &stalled{rig: r, ended: make(chan error, 1)}
	r.journal = openJournal(t, filepath.Join(r.cfg.DataDir, "journal.db"))
	s.worker = New(r.cfg, r.store, r.sessions, r.exec, r.journal, hclog.NewNullLogger())
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	t.Cleanup(stop)
	go func() { s.ended <- s.worker.Run(ctx) }() // stopped waits for it
	return s
}

// stopped stops the worker and waits 20 s for Run to return an error.
func (s *stalled) stopped() {
	s.t.Helper()
	s.stop()
	select {
	case err := <-s.ended:
		if err == nil {
			s.t.Error("Run() = nil, want an error for the goroutine that is left behind")
		}
	case <-time.After(20 * time.Second):
		s.t.Error("the worker does not stop")
	}
}

var await = poll.Until

// probePipe puts a pipe at the path of the probe file. Opening the pipe blocks until goOn opens the other end.
func probePipe(t *testing.T, dir string) (goOn func()) {
	t.Helper()
	path := filepath.Join(dir, "probe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		pipe, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		if _, err := io.Copy(io.Discard, pipe); err != nil {
			t.Error(err)
		}
	}
}

func TestADiskThatDoesNotAnswer(t *testing.T) {
	t.Run("delays no outcome, and an outcome that it writes late is not sent again", func(t *testing.T) {
		r := newRig(t, failing)
		r.cfg.stopTimeout = 100 * time.Millisecond
		s := startStalled(t, r)
		await(t, "a session is open", func() bool { return s.session() != nil })
		tx, err := s.journal.db.Begin(true) // blocks the journal like a commit that waits for the disk
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		name, _ := s.one()
		await(t, "the outcome is in the store", func() bool { return s.store.get(name).State == job.Failed })
		await(t, "the worker says so", func() bool { return errors.Is(s.worker.Refuses(), output.ErrNoAnswer) })
		s.stopped()
		if err := s.journal.Close(); !errors.Is(err, output.ErrNoAnswer) {
			t.Errorf("Close() = %v, want %v", err, output.ErrNoAnswer)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		s.worker.wg.Wait()
		if err := s.journal.Close(); err != nil {
			t.Error(err)
		}
		if got, _ := openJournal(t, filepath.Join(s.cfg.DataDir, "journal.db")).load(); len(got) != 0 {
			t.Errorf("journal holds %d outcomes, want none", len(got))
		}
	})

	t.Run("is noticed, and delays no session", func(t *testing.T) {
		r := newRig(t, failing)
		goOn := probePipe(t, r.cfg.DataDir)
		s := startStalled(t, r)
		await(t, "the worker says so", func() bool {
			return errors.Is(s.worker.Refuses(), output.ErrNoAnswer) && s.session() != nil && s.sessions.shown().Draining
		})
		first := s.session()
		first.lose()
		await(t, "another session is open", func() bool { return s.session() != first })
		goOn()
		await(t, "the worker takes something again", func() bool {
			return s.worker.Refuses() == nil && !s.sessions.shown().Draining
		})
		s.stop()
		if err := <-s.ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})

	t.Run("does not prevent the worker's end", func(t *testing.T) {
		r := newRig(t, failing)
		r.cfg.stopTimeout = 100 * time.Millisecond
		goOn := probePipe(t, r.cfg.DataDir)
		s := startStalled(t, r)
		s.stopped()
		goOn()
		s.worker.wg.Wait()
	})
}
