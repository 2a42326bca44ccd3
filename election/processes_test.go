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

// morgue is a set of processes to attend to.
type morgue struct {
	mu      sync.Mutex
	present []Process
	dead    map[string]chan struct{} // by address: closed when the process is dead
	ended   []Process                // those whose presence End was asked to end
	refuse  int                      // so many calls of End fail
}

func (m *morgue) enter(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == nil {
		m.dead = make(map[string]chan struct{})
	}
	m.present = append(m.present, p)
	m.dead[p.Addr] = make(chan struct{})
}

func (m *morgue) leave(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present = slices.DeleteFunc(m.present, func(q Process) bool { return q == p })
}

func (m *morgue) die(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.dead[p.Addr])
}

func (m *morgue) list() []Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.present)
}

// await proves nothing of one that is dead already, like AwaitDeath.
func (m *morgue) await(ctx context.Context, addr string) bool {
	m.mu.Lock()
	dead := m.dead[addr]
	m.mu.Unlock()
	return seenToDie(ctx, dead)
}

// seenToDie says whether dead is closed from now on, before ctx ends.
func seenToDie(ctx context.Context, dead <-chan struct{}) bool {
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

func (m *morgue) end(_ context.Context, p Process) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, p)
	if m.refuse > 0 {
		m.refuse--
		return errors.New("conflict")
	}
	return nil
}

// attended wants End to have been called for exactly these, since the last call.
func (m *morgue) attended(t *testing.T, what string, want ...Process) {
	t.Helper()
	time.Sleep(2 * attendPoll)
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.ended, want) {
		t.Errorf("%s: ended %v, want %v", what, m.ended, want)
	}
	m.ended = nil
}

// attending runs WatchProcesses to the end of the bubble.
func attending(t *testing.T, m *morgue) {
	t.Helper()
	background(t, func(ctx context.Context) error {
		WatchProcesses(ctx, ProcessWatch{Present: m.list, End: m.end, Await: m.await})
		return nil
	})
}

func TestThePresenceOfTheDeadIsEnded(t *testing.T) {
	t.Parallel()
	a, b := Process{Name: "a", Addr: "a:1", Session: "1"}, Process{Name: "b", Addr: "b:1", Session: "2"}
	again := Process{Name: "a", Addr: "a:2", Session: "3"}
	synctest.Test(t, func(t *testing.T) {
		m := &morgue{}
		attending(t, m)
		m.enter(a)
		m.enter(b)
		m.attended(t, "while all live")
		m.die(a)
		m.attended(t, "after a has died", a)
		m.attended(t, "while a is still listed")
		m.leave(a)
		m.enter(again)
		m.attended(t, "while the next a lives")
		m.die(again)
		m.attended(t, "after it has died", again)
	})
}

func TestADeathThatCouldNotBeActedUponIsNotForgotten(t *testing.T) {
	t.Parallel()
	a := Process{Name: "a", Addr: "a:1", Session: "1"}
	synctest.Test(t, func(t *testing.T) {
		m := &morgue{refuse: 2}
		attending(t, m)
		m.enter(a)
		m.attended(t, "while it lives")
		m.die(a)
		m.attended(t, "after it has died", a, a, a)
	})
}

func TestWhoHasLeftIsNotAttendedTo(t *testing.T) {
	t.Parallel()
	a, nowhere := Process{Name: "a", Addr: "a:1", Session: "1"}, Process{Name: "b", Session: "2"}
	synctest.Test(t, func(t *testing.T) {
		m := &morgue{}
		attending(t, m)
		m.enter(a)
		m.enter(nowhere)
		m.attended(t, "while it is there")
		m.leave(a)
		m.attended(t, "after it has left")
		m.die(a)
		m.die(nowhere)
		m.attended(t, "after it has died")
	})
}
