package worker

import "sync"

// tally counts what is in progress, and lets one wait until nothing is.
type tally struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to zero; nil while nobody waits
}

// add counts d more, which may be negative, and returns how many are in progress.
func (t *tally) add(d int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += d
	if t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
	return t.n
}

// count is how many are in progress.
func (t *tally) count() int { return t.add(0) }

// empty returns a channel that is closed as soon as nothing is in progress.
func (t *tally) empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		now := make(chan struct{})
		close(now)
		return now
	}
	if t.none == nil {
		t.none = make(chan struct{})
	}
	return t.none
}
