package worker

import (
	"sync"
	"time"
)

// queue runs functions in the order of their submission, with a limit of how many run at a time. A waiting function costs
// no goroutine. While a timetable is behind, functions of the queue yield to it, each for a bounded time.
type queue struct {
	table *timetable
	limit int           // the number of functions that run at a time
	yield time.Duration // the longest time that a function waits while the timetable is behind

	mu      sync.Mutex
	waiting []submission // guarded by mu
	running int          // guarded by mu
}

// submission is a function that waits in a queue.
type submission struct {
	f  func()
	at time.Time
}

// newQueue returns a queue whose functions yield to t, and that t starts. Call it before t runs.
func (t *timetable) newQueue(limit int, yield time.Duration) *queue {
	q := &queue{table: t, limit: limit, yield: yield}
	t.queues = append(t.queues, q)
	return q
}

// submit runs f on the caller's goroutine if no other function must run first. Otherwise f runs later in the background.
func (q *queue) submit(f func()) {
	q.mu.Lock()
	if len(q.waiting) > 0 || q.running >= q.limit || q.table.behind() {
		q.waiting = append(q.waiting, submission{f: f, at: time.Now()})
		q.mu.Unlock()
		return
	}
	q.running++
	q.mu.Unlock()
	q.work(f)
}

// work runs f and then the waiting functions that may run. The caller has counted f as running.
func (q *queue) work(f func()) {
	for f != nil {
		f()
		q.mu.Lock()
		q.running--
		f = q.nextLocked()
		q.mu.Unlock()
	}
}

// startBatch starts up to batchSize functions. It reports whether more may start.
func (q *queue) startBatch() (more bool) {
	for range batchSize {
		q.mu.Lock()
		f := q.nextLocked()
		q.mu.Unlock()
		if f == nil {
			return false
		}
		q.table.start(func() { q.work(f) })
	}
	return true
}

// nextLocked removes the next function that may run, counts it as running and returns it; nil if there is none. q.mu is held.
func (q *queue) nextLocked() func() {
	if len(q.waiting) == 0 || q.running >= q.limit {
		return nil
	}
	next := q.waiting[0]
	if q.table.behind() && time.Since(next.at) < q.yield {
		return nil
	}
	q.waiting[0] = submission{}
	q.waiting = q.waiting[1:]
	q.running++
	return next.f
}
