package worker

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// batchSize is how many functions a timetable or a queue starts before it yields to the other goroutines that are ready to run.
const batchSize = 64

// timetable starts functions at their times. A waiting function costs no goroutine. If many functions are due at one instant,
// it makes only a few ready to run at a time. Otherwise the goroutine that renews the session would wait behind all of them,
// each time it must run.
type timetable struct {
	start  func(f func()) // runs f in the background
	queues []*queue       // functions of these queues yield to those of the timetable

	changed chan struct{} // holds a token when the first entry has changed
	late    atomic.Bool   // see behind

	mu      sync.Mutex
	waiting entries // guarded by mu
	over    bool    // guarded by mu: functions start at once from now on
}

// entry is a function that waits for its time.
type entry struct {
	at    time.Time
	f     func()
	stop  func() bool // stops watching the context of the entry
	index int         // in the heap; -1: it has been started
}

func newTimetable(start func(f func())) *timetable {
	return &timetable{start: start, changed: make(chan struct{}, 1)}
}

// after starts f when d has passed or ctx has ended, whichever comes first.
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
	first := e.index == 0
	t.mu.Unlock()
	if first {
		wake(t.changed)
	}
}

// hasten makes e due now, unless it was started already.
func (t *timetable) hasten(e *entry) {
	t.mu.Lock()
	if e.index >= 0 {
		e.at = time.Time{}
		heap.Fix(&t.waiting, e.index)
	}
	t.mu.Unlock()
	wake(t.changed)
}

// behind reports whether some functions are due and not started.
func (t *timetable) behind() bool { return t.late.Load() }

// run starts the functions that are due, until ctx ends. Then it starts all others. From then on, after starts functions at
// once.
func (t *timetable) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, more := t.startDue(ctx.Err() != nil)
		t.late.Store(more)
		for _, q := range t.queues {
			more = q.startBatch() || more
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
		case <-t.changed:
		case <-ctx.Done():
		}
	}
}

// startDue starts up to batchSize functions that are due. If end is true, all functions count as due. It reports whether more
// are due, and returns the time until the next one is due.
func (t *timetable) startDue(end bool) (wait time.Duration, more bool) {
	now := time.Now()
	for n := 0; ; n++ {
		t.mu.Lock()
		t.over = end && len(t.waiting) == 0
		wait = time.Hour
		if len(t.waiting) > 0 {
			wait = t.waiting[0].at.Sub(now)
		}
		if due := len(t.waiting) > 0 && (wait <= 0 || end); !due || n == batchSize {
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
	h[i].index, h[k].index = i, k
}

func (h *entries) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entries) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
