package store

import "sync"

// running is the goroutines of a store.
type running struct {
	wg sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu: nothing starts any more
}

// start runs f in the background, and says whether it did: not after close.
func (r *running) start(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.wg.Go(f)
	}
	return !r.closed
}

// close waits for all that was started.
func (r *running) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
}
