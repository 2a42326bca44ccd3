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

// Sweeper kills and finds marked processes for many callers: those that come while a look at all processes is under way share
// the next one. It costs some milliseconds on a busy machine, so that thousands of short attempts must not have one each. The
// zero value is ready to use.
type Sweeper struct {
	kills rounds[error]
	looks rounds[map[string][]int]
}

// Kill does what KillMarked does. Its error may be about a process of another caller's attempt.
func (s *Sweeper) Kill(mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	return s.kills.join(mark, func(marks map[string]bool) error { return killMarked(marks, killLimit) })
}

// Find returns the processes that carry the mark, none if it cannot be seen which do.
func (s *Sweeper) Find(mark string) []int { return s.looks.join(mark, findMarked)[mark] }

// rounds lets callers share what they do: those that come while a round is under way share the next one.
type rounds[T any] struct {
	turn sync.Mutex // held by the round under way

	mu   sync.Mutex
	next *round[T] // that is being joined; nil: none
}

type round[T any] struct {
	once   sync.Once
	marks  map[string]bool
	result T // shared
}

// join returns what do does for the marks of all who take part in a round.
func (r *rounds[T]) join(mark string, do func(marks map[string]bool) T) T {
	r.mu.Lock()
	if r.next == nil {
		r.next = &round[T]{marks: make(map[string]bool)}
	}
	w := r.next
	w.marks[mark] = true
	r.mu.Unlock()

	w.once.Do(func() { // all who joined wait here until it is done
		r.turn.Lock()
		defer r.turn.Unlock()
		r.mu.Lock()
		r.next = nil // whoever comes now might have begun a process that this round does not see
		r.mu.Unlock()
		w.result = do(w.marks)
	})
	return w.result
}
