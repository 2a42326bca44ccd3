package procs

import (
	"sync"
	"time"
)

// KillMarked kills every process whose mark is one of the given ones, or whose session is, and returns when a look at all
// processes has found none. Its error names those that were left after ten seconds, or says why looking failed.
// The calling process is never killed.
func KillMarked(marks ...string) error {
	all := make(map[string]bool)
	for _, mark := range marks {
		if err := checkMark(mark); err != nil {
			return err
		}
		all[mark] = true
	}
	return killMarked(all, killLimit)
}

// killLimit is how long a killed process may take to vanish. Only one that waits in the kernel, or that belongs to
// another user, takes longer.
const killLimit = 10 * time.Second

// Sweeper kills marked processes for many callers: those that come while a sweep is under way share the next one.
// A look at all processes costs some milliseconds on a busy machine, so that thousands of short attempts must not have
// one each. The zero value is ready to use.
type Sweeper struct {
	turn sync.Mutex // held by the sweep under way

	mu   sync.Mutex
	next *sweep // that is being joined; nil: none
}

type sweep struct {
	once  sync.Once
	marks map[string]bool
	err   error
}

// Kill does what KillMarked does. Its error may be about a process of another caller's attempt.
func (s *Sweeper) Kill(mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	s.mu.Lock()
	if s.next == nil {
		s.next = &sweep{marks: make(map[string]bool)}
	}
	w := s.next
	w.marks[mark] = true
	s.mu.Unlock()

	w.once.Do(func() { // all who joined wait here until it is done
		s.turn.Lock()
		defer s.turn.Unlock()
		s.mu.Lock()
		s.next = nil // whoever comes now might have begun a process that this sweep does not see
		s.mu.Unlock()
		w.err = killMarked(w.marks, killLimit)
	})
	return w.err
}
