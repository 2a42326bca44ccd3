package store

import (
	"context"
	"sync"
)

// signal wakes all goroutines that wait for it, each time it is fired. The zero value is ready for use.
type signal struct {
	mu   sync.Mutex
	ctx  context.Context    // guarded by mu: ends when the signal is fired; nil while nothing waits
	fire context.CancelFunc // guarded by mu: ends ctx
}

// next returns a context that ends when the signal is fired next.
func (s *signal) next() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.fire = context.WithCancel(context.Background())
	}
	return s.ctx
}

// notify fires the signal.
func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fire != nil {
		s.fire()
		s.ctx, s.fire = nil, nil
	}
}

// restarting calls do with a context that ends when the signal is fired. If do then returns an error, restarting calls
// it again.
func (s *signal) restarting(ctx context.Context, do func(ctx context.Context) error) error {
	for {
		try, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(s.next(), cancel)
		err := do(try)
		undisturbed := stop()
		cancel()
		if err == nil || undisturbed || ctx.Err() != nil {
			return err
		}
	}
}
