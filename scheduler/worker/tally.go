package worker

import "sync"

// tally counts work in progress. Its users can wait until the count is zero. The zero value has the count zero.
type tally struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	zero chan struct{} // guarded by mu: closed when n falls to zero; nil while no one waits
}

// add adds d, which may be negative, and returns the count.
func (t *tally) add(d int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += d
	if t.n == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
	return t.n
}

// count returns the count.
func (t *tally) count() int { return t.add(0) }

// empty returns a channel that is closed when the count is zero, or falls to zero.
func (t *tally) empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		now := make(chan struct{})
		close(now)
		return now
	}
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	return t.zero
}
