package worker

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// portion is how many functions of one kind are started before whatever else is ready to run has its turn.
const portion = 64

// timetable starts functions at their times. One that waits costs no goroutine. Of many that are due at one instant, few at a
// time are ready to run: what renews a lease has to run several times for that, and would wait behind all of them each time.
type timetable struct {
	start  func(f func()) // runs f in the background
	queues []*queue       // of what makes way for what is due

	wake chan struct{} // holds a token when there is something sooner than before
	late atomic.Bool   // more is due than has been started

	mu      sync.Mutex
	waiting entries // guarded by mu
	over    bool    // guarded by mu: nothing waits any more
}

// entry is a function that waits for its time.
type entry struct {
	at    time.Time
	f     func()
	stop  func() bool // listening to its context
	place int         // in the heap; -1: not in it
}

func newTimetable(start func(f func())) *timetable {
	return &timetable{start: start, wake: make(chan struct{}, 1)}
}

// after has f started once d has passed or ctx has ended, whichever comes first.
func (t *timetable) after(ctx context.Context, d time.Duration, f func()) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		t.start(f)
		return
	}
	e := &entry{at: time.Now().Add(d), f: f}
	e.stop = context.AfterFunc(ctx, func() { t.hasten(e) })
	heap.Push(&t.waiting, e)
	first := e.place == 0
	t.mu.Unlock()
	if first {
		t.nudge()
	}
}

// hasten has e come due now, if it has not.
func (t *timetable) hasten(e *entry) {
	t.mu.Lock()
	if e.place >= 0 {
		e.at = time.Time{}
		heap.Fix(&t.waiting, e.place)
	}
	t.mu.Unlock()
	t.nudge()
}

// nudge has run look again.
func (t *timetable) nudge() {
	select {
	case t.wake <- struct{}{}:
	default: // it will
	}
}

// behind says whether more is due than has been started.
func (t *timetable) behind() bool { return t.late.Load() }

// run starts what is due until ctx ends, and then all the rest. Whatever comes after that is started at once.
func (t *timetable) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, more := t.startDue(ctx.Err() != nil)
		t.late.Store(more)
		for _, q := range t.queues {
			more = q.startSome() || more
		}
		switch {
		case more:
			runtime.Gosched()
			continue
		case ctx.Err() != nil:
			return
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-t.wake:
		case <-ctx.Done():
		}
	}
}

// startDue starts a portion of what is due, which is everything at the end. It returns whether more is due, and how long it is
// until something is.
func (t *timetable) startDue(end bool) (wait time.Duration, more bool) {
	now := time.Now()
	for n := 0; ; n++ {
		t.mu.Lock()
		t.over = end && len(t.waiting) == 0
		wait = time.Hour
		if len(t.waiting) > 0 {
			wait = t.waiting[0].at.Sub(now)
		}
		if due := len(t.waiting) > 0 && (wait <= 0 || end); !due || n == portion {
			t.mu.Unlock()
			return wait, due
		}
		e := heap.Pop(&t.waiting).(*entry)
		t.mu.Unlock()
		e.stop()
		t.start(e.f)
	}
}

// entries is a heap of entries by their times.
type entries []*entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, k int) bool { return h[i].at.Before(h[k].at) }
func (h entries) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].place, h[k].place = i, k
}

func (h *entries) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *entries) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.place = -1
	return e
}
