package election

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// processes is a set of processes that a test watches and kills.
type processes struct {
	mu      sync.Mutex
	present []Process
	dead    map[string]chan struct{} // by address: closed when the process is dead
	ended   []Process                // the arguments of End, in order
	refuse  int                      // this many calls of End fail
}

func (m *processes) enter(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == nil {
		m.dead = make(map[string]chan struct{})
	}
	m.present = append(m.present, p)
	m.dead[p.Addr] = make(chan struct{})
}

func (m *processes) leave(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present = slices.DeleteFunc(m.present, func(q Process) bool { return q == p })
}

func (m *processes) die(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.dead[p.Addr])
}

func (m *processes) list() []Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.present)
}

// await proves only a death that happens after the call, like AwaitDeath.
func (m *processes) await(ctx context.Context, addr string) bool {
	m.mu.Lock()
	dead := m.dead[addr]
	m.mu.Unlock()
	return closedAfterCall(ctx, dead)
}

// closedAfterCall reports whether dead is closed after the call and before ctx ends.
func closedAfterCall(ctx context.Context, dead <-chan struct{}) bool {
	select {
	case <-dead:
		return false
	default:
	}
	select {
	case <-dead:
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *processes) end(_ context.Context, p Process) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, p)
	if m.refuse > 0 {
		m.refuse--
		return errors.New("conflict")
	}
	return nil
}

// wantEnded checks the calls of End after the last wantEnded.
func (m *processes) wantEnded(t *testing.T, what string, want ...Process) {
	t.Helper()
	time.Sleep(2 * processPoll)
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.ended, want) {
		t.Errorf("%s: ended %v, want %v", what, m.ended, want)
	}
	m.ended = nil
}

// watchAll runs WatchProcesses to the end of the test.
func watchAll(t *testing.T, m *processes) {
	t.Helper()
	background(t, func(ctx context.Context) error {
		WatchProcesses(ctx, ProcessWatch{Present: m.list, End: m.end, Await: m.await})
		return nil
	})
}

func TestThePresenceOfADeadProcessIsEnded(t *testing.T) {
	t.Parallel()
	a, b := Process{Name: "a", Addr: "a:1", Session: "1"}, Process{Name: "b", Addr: "b:1", Session: "2"}
	again := Process{Name: "a", Addr: "a:2", Session: "3"}
	synctest.Test(t, func(t *testing.T) {
		m := &processes{}
		watchAll(t, m)
		m.enter(a)
		m.enter(b)
		m.wantEnded(t, "while all live")
		m.die(a)
		m.wantEnded(t, "after the death of a", a)
		m.wantEnded(t, "while a is still listed")
		m.leave(a)
		m.enter(again)
		m.wantEnded(t, "while the next a lives")
		m.die(again)
		m.wantEnded(t, "after its death", again)
	})
}

func TestEndIsCalledAgainAfterAnError(t *testing.T) {
	t.Parallel()
	a := Process{Name: "a", Addr: "a:1", Session: "1"}
	synctest.Test(t, func(t *testing.T) {
		m := &processes{refuse: 2}
		watchAll(t, m)
		m.enter(a)
		m.wantEnded(t, "while it lives")
		m.die(a)
		m.wantEnded(t, "after its death", a, a, a)
	})
}

func TestAProcessThatHasLeftIsNotWatched(t *testing.T) {
	t.Parallel()
	a, nowhere := Process{Name: "a", Addr: "a:1", Session: "1"}, Process{Name: "b", Session: "2"}
	synctest.Test(t, func(t *testing.T) {
		m := &processes{}
		watchAll(t, m)
		m.enter(a)
		m.enter(nowhere)
		m.wantEnded(t, "while it is present")
		m.leave(a)
		m.wantEnded(t, "after it has left")
		m.die(a)
		m.die(nowhere)
		m.wantEnded(t, "after its death")
	})
}
