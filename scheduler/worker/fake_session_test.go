package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// fakeSessions opens sessions. Each call of Deadline renews a session, until it is cut off.
type fakeSessions struct {
	mu       sync.Mutex
	opened   []*fakeSession
	presence job.Worker
	err      error
	opening  func() // called when a session opens
	closing  func() // called when a session is closed
	updates  int    // the number of changes of the presence
	refuse   error  // the error of all changes of the presence; nil: none
}

const fakeTTL = 5 * time.Second

type fakeSession struct {
	id      string
	done    chan struct{}
	back    chan struct{} // has a token if the presence was put back
	closing func()        // may be nil

	mu     sync.Mutex
	cut    time.Time // end of the renewals; zero: it is renewed
	closed bool
	taken  bool
}

func (f *fakeSessions) Open(ctx context.Context, w job.Worker) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if f.opening != nil {
		f.opening()
	}
	s := &fakeSession{id: fmt.Sprintf("s%d", len(f.opened)+1), done: make(chan struct{}), back: make(chan struct{}, 1), closing: f.closing}
	f.opened = append(f.opened, s)
	w.Session = s.id
	f.presence = w
	return s, nil
}

func (f *fakeSessions) Update(ctx context.Context, s Session, w job.Worker) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.updates++
	if f.refuse == nil {
		f.presence = w
	}
	return f.refuse
}

func (f *fakeSessions) refuseUpdates(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = err
}

// changes returns how often the presence was changed, refused changes included.
func (f *fakeSessions) changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.updates
}

// shown returns the presence that others see.
func (f *fakeSessions) shown() job.Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.presence
}

func (f *fakeSessions) last() *fakeSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.opened) == 0 {
		return nil
	}
	return f.opened[len(f.opened)-1]
}

func (s *fakeSession) ID() string { return s.id }

func (s *fakeSession) Done() <-chan struct{} { return s.done }

func (s *fakeSession) Back() <-chan struct{} { return s.back }

func (s *fakeSession) Taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

func (s *fakeSession) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut.IsZero() {
		return time.Now().Add(fakeTTL)
	}
	return s.cut.Add(fakeTTL)
}

func (s *fakeSession) Close(context.Context) error {
	if s.closing != nil {
		s.closing()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *fakeSession) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// lose ends the session and notifies its owner.
func (s *fakeSession) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
}

// take ends the session as another process of the same name does.
func (s *fakeSession) take() {
	s.mu.Lock()
	s.taken = true
	s.mu.Unlock()
	s.lose()
}

// cutOff ends the renewals.
func (s *fakeSession) cutOff() { s.cutAt(time.Now()) }

// expire makes the lease of the session end now, as if the process had been suspended: no timer has fired.
func (s *fakeSession) expire() { s.cutAt(time.Now().Add(-fakeTTL)) }

func (s *fakeSession) cutAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut.IsZero() || at.Before(s.cut) { // a session that others may think over is never renewed
		s.cut = at
	}
}
