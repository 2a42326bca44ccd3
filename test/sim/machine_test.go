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

// machine runs one process after the other, with its own disk and clock.
type machine struct {
	world    *world
	name     string
	replica  bool
	capacity int // capacity of its worker; 0: it has none
	clock    clock
	offset   time.Duration // offset of the clock until it is set
	wrong    int           // number of settings that are not undone yet
	lies     time.Duration // error of the times in its worker's records
	process  *process      // nil: none runs
	lives    int           // number of processes so far
	disk     string        // the file with the journal

	mu      sync.Mutex
	resumes chan struct{} // guarded by mu: closed when the machine continues; nil while it is not paused
}

// addr returns the address of the processes of this machine.
func (m *machine) addr() string { return m.name + ":8470" }

// start starts a new process on the journal of the last one.
func (m *machine) start() {
	if m.process != nil || m.world.off {
		return
	}
	m.lives++
	m.process = newProcess(m)
	m.world.processes.Go(m.process.run)
}

// kill ends the process like a power cut: it does nothing more, and the disk keeps only synced data.
func (m *machine) kill() {
	p := m.process
	if p == nil {
		return
	}
	m.resume()
	synctest.Wait() // so that no goroutine writes to the disk
	m.disk = copyFile(m.world.t, m.disk, fmt.Sprintf("%s.%d", p.disk, m.lives))
	m.world.server.Cut(p.client)
	p.die()
	m.process = nil
	m.world.fault(history.Fault{Kind: history.Kill, Node: m.name, At: time.Now()})
}

// stop asks the process to end, and returns when it has ended.
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

// copyFile copies a file if it exists, and returns the path of the copy.
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

// pause stops the process in the middle of its work.
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

// resume continues it.
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

// awake waits until the machine is not paused and returns true. It returns false if ctx ends before.
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

// now returns the wall clock of the process. On a paused machine it returns after the pause.
func (m *machine) now() time.Time {
	m.awake(context.Background())
	return m.clock.now()
}

// sleep waits for d, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (m *machine) paused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resumes != nil
}
