package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// machine is a place where one process after the other runs, with a disk and a clock of its own.
type machine struct {
	world    *world
	name     string
	replica  bool
	capacity int // of its worker; 0: it has none
	clock    clock
	offset   time.Duration // of the clock, unless it was set
	wrong    int           // how often it was set and not set right again
	lies     time.Duration // how far its worker's records are off
	process  *process      // nil: none runs
	lives    int           // processes that have begun here
	disk     string        // the file with the journal

	mu      sync.Mutex
	resumes chan struct{} // guarded by mu: closed when the machine goes on; nil while it is not paused
}

// addr is where the processes of this machine could be reached.
func (m *machine) addr() string { return m.name + ":8470" }

// start runs a new process, on the journal that the last one left.
func (m *machine) start() {
	if m.process != nil || m.world.off {
		return
	}
	m.lives++
	m.process = newProcess(m)
	m.world.processes.Go(m.process.run)
}

// kill ends the process as a power cut does: nothing of it does anything from now on, and on the disk is what was synced.
func (m *machine) kill() {
	p := m.process
	if p == nil {
		return
	}
	m.resume()
	synctest.Wait() // nobody is writing to the disk
	m.disk = copyFile(m.world.t, m.disk, fmt.Sprintf("%s.%d", p.disk, m.lives))
	m.world.server.Cut(p.client)
	p.die()
	m.process = nil
	m.world.fault(history.Fault{Kind: history.Kill, Node: m.name, At: time.Now()})
}

// stop asks the process to end, and returns when it has.
func (m *machine) stop() {
	p := m.process
	if p == nil {
		return
	}
	asked := time.Now()
	m.resume()
	p.cancel()
	<-p.done
	m.process = nil
	m.world.fault(history.Fault{Kind: history.Drain, Node: m.name, At: asked.Add(shutdownGrace), Until: time.Now()})
}

// copyFile makes a copy of a file, if there is one, and returns its path.
func copyFile(t *testing.T, from, to string) string {
	b, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return to
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
	return to
}

// pause stops the process in the middle of what it does.
func (m *machine) pause(until time.Time) {
	m.mu.Lock()
	if m.resumes == nil {
		m.resumes = make(chan struct{})
	}
	m.mu.Unlock()
	if m.process.ctx.Err() != nil {
		m.process.stalled.Store(true)
	}
	m.world.net.disturb(m.process.client, frozen, until)
	m.world.server.StallWatches(m.process.client)
}

// resume lets it go on.
func (m *machine) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resumes == nil {
		return
	}
	close(m.resumes)
	m.resumes = nil
	m.world.net.disturb(m.process.client, none, time.Time{})
	m.world.server.ResumeWatches(m.process.client)
}

// awake returns true when the machine is not paused, and false if ctx ends before.
func (m *machine) awake(ctx context.Context) bool {
	m.mu.Lock()
	resumes := m.resumes
	m.mu.Unlock()
	if resumes == nil {
		return true
	}
	select {
	case <-resumes:
		return true
	case <-ctx.Done():
		return false
	}
}

// now is the wall clock that the process decides by. Who asks a paused machine gets the answer when it goes on.
func (m *machine) now() time.Time {
	m.awake(context.Background())
	return m.clock.now()
}

// sleep passes time, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (m *machine) paused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resumes != nil
}
