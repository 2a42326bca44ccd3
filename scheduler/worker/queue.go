package worker

import (
	"sync"
	"time"
)

// queue runs functions in the order in which they came, so many at a time. One that waits costs no goroutine. They make way for
// what is due in a timetable, each for a while.
type queue struct {
	table    *timetable
	places   int           // how many functions run at a time
	patience time.Duration // how long one makes way

	mu      sync.Mutex
	waiting []waiter // guarded by mu
	taken   int      // guarded by mu: places
}

// waiter is a function that waits for a place.
type waiter struct {
	f     func()
	since time.Time
}

// newQueue returns a queue whose functions make way for what is due in t, which starts them. t does not run
// yet.
func (t *timetable) newQueue(places int, patience time.Duration) *queue {
	q := &queue{table: t, places: places, patience: patience}
	t.queues = append(t.queues, q)
	return q
}

// do runs f on the caller's goroutine, if nothing is before it, or in the background later.
func (q *queue) do(f func()) {
	q.mu.Lock()
	if len(q.waiting) > 0 || q.taken >= q.places || q.table.behind() {
		q.waiting = append(q.waiting, waiter{f: f, since: time.Now()})
		q.mu.Unlock()
		return
	}
	q.taken++
	q.mu.Unlock()
	q.work(f)
}

// work runs f in the place that the caller has taken, and then whatever may follow in it.
func (q *queue) work(f func()) {
	for f != nil {
		f()
		q.mu.Lock()
		q.taken--
		f = q.nextLocked(time.Now())
		q.mu.Unlock()
	}
}

// startSome starts a portion of what may run, and says whether more may.
func (q *queue) startSome() (more bool) {
	now := time.Now()
	for range portion {
		q.mu.Lock()
		f := q.nextLocked(now)
		q.mu.Unlock()
		if f == nil {
			return false
		}
		q.table.start(func() { q.work(f) })
	}
	return true
}

// nextLocked takes a place for the next function that may run, and returns it; nil if there is none. q.mu is held.
func (q *queue) nextLocked(now time.Time) func() {
	if len(q.waiting) == 0 || q.taken >= q.places {
		return nil
	}
	next := q.waiting[0]
	if q.table.behind() && now.Sub(next.since) < q.patience {
		return nil
	}
	q.waiting[0] = waiter{}
	q.waiting = q.waiting[1:]
	q.taken++
	return next.f
}
