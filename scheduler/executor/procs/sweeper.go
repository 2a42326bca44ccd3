package procs

import (
	"sync"
	"time"
)

// KillMarked kills every process that carries one of the marks, or whose life is one of them. It returns when a scan of all
// processes finds none. The error names the processes that are still alive after killLimit, or says why the scan failed. It
// never kills the calling process.
//
// The error also names the processes whose environments cannot be read, because they wait in the kernel.
func KillMarked(marks ...string) error { return killAll(marks, false) }

// killAll is KillMarked. own says that the marks belong to the life of this process.
func killAll(marks []string, own bool) error {
	all := make(map[string]bool)
	for _, mark := range marks {
		if err := checkMark(mark); err != nil {
			return err
		}
		all[mark] = true
	}
	return killMarked(all, killLimit, own)
}

// killLimit is how long killed processes may take to vanish. Only a process that waits in the kernel, or that belongs to
// another user, takes longer.
const killLimit = 10 * time.Second

// Sweeper kills and finds marked processes for many callers. Callers that arrive during a scan of all processes share the
// next one. A scan takes some milliseconds on a busy machine, so thousands of short attempts cannot have one each. The
// zero value is ready to use.
type Sweeper struct {
	kills    rounds[error]
	searches rounds[finds]
}

// Kill kills the processes of a mark of this life like KillMarked. Its error may concern a process of another caller's attempt.
func (s *Sweeper) Kill(mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	return s.kills.join(mark, func(marks map[string]bool) error { return killMarked(marks, killLimit, true) })
}

// finds are the processes that a search has found, by mark. With an error, which is a shortage, there may be more.
type finds struct {
	pids map[string][]int
	err  error
}

// Find returns the processes that carry the mark; none if the processes cannot be read at all. With an error, which says that this
// process lacks a descriptor or memory, there may be more.
func (s *Sweeper) Find(mark string) ([]int, error) {
	f := s.searches.join(mark, findMarked)
	return f.pids[mark], f.err
}

// rounds lets callers share a scan: callers that arrive during a round share the next one.
type rounds[T any] struct {
	turn sync.Mutex // locked by the round under way

	mu   sync.Mutex
	next *round[T] // guarded by mu: the round that callers join; nil: none
}

type round[T any] struct {
	once   sync.Once
	marks  map[string]bool
	result T // shared by all callers of the round
}

// join returns the result of do for the marks of all callers of one round.
func (r *rounds[T]) join(mark string, do func(marks map[string]bool) T) T {
	r.mu.Lock()
	if r.next == nil {
		r.next = &round[T]{marks: make(map[string]bool)}
	}
	w := r.next
	w.marks[mark] = true
	r.mu.Unlock()

	w.once.Do(func() { // all callers of the round wait here
		r.turn.Lock()
		defer r.turn.Unlock()
		r.mu.Lock()
		r.next = nil // a caller that arrives now may have started a process that this round does not see
		r.mu.Unlock()
		w.result = do(w.marks)
	})
	return w.result
}
