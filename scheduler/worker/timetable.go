package worker

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/keyed"
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

	began time.Time // keys of the heap count from here, by the monotonic clock

	mu      sync.Mutex
	waiting keyed.Heap[*entry] // guarded by mu: entries by their times; it may still contain entries that were started
	over    bool               // guarded by mu: functions start at once from now on
}

// entry is a function that waits for its time.
type entry struct {
	f        func()      // guarded by timetable.mu; nil: it was started, or put is still to come
	hastened bool        // guarded by timetable.mu
	stop     func() bool // stops watching the context of the entry; nil: it has none
}

func newTimetable(start func(f func())) *timetable {
	return &timetable{start: start, changed: make(chan struct{}, 1), began: time.Now()}
}

// after starts f when d has passed or ctx has ended, whichever comes first.
func (t *timetable) after(ctx context.Context, d time.Duration, f func()) {
	e := &entry{}
	e.stop = context.AfterFunc(ctx, func() { t.hasten(e) })
	t.put(e, d, f)
}

// add starts f when d has passed or hasten is called, whichever comes first.
func (t *timetable) add(d time.Duration, f func()) *entry {
	e := &entry{}
	t.put(e, d, f)
	return e
}

// put starts f when d has passed, or hasten is or was called, whichever comes first.
func (t *timetable) put(e *entry, d time.Duration, f func()) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		t.start(f)
		return
	}
	e.f = f
	if e.hastened {
		d = 0
	}
	at := int64(time.Since(t.began) + min(max(0, d), math.MaxInt64/2))
	first := true
	if t.waiting.Len() > 0 {
		least, _ := t.waiting.Min()
		first = at < least
	}
	t.waiting.Push(at, e)
	t.mu.Unlock()
	if first {
		wake(t.changed)
	}
}

// hasten makes e due now, unless it was started already.
func (t *timetable) hasten(e *entry) {
	t.mu.Lock()
	e.hastened = true
	if e.f != nil {
		t.waiting.Push(math.MinInt64, e) // the other place of e in the heap has no effect any more
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
	now := int64(time.Since(t.began))
	for n := 0; ; n++ {
		t.mu.Lock()
		wait, due := t.untilNextLocked(now, end)
		if !due || n == batchSize {
			t.over = end && !due
			t.mu.Unlock()
			return wait, due
		}
		_, e := t.waiting.Pop()
		f := e.f
		e.f = nil
		t.mu.Unlock()
		if e.stop != nil {
			e.stop()
		}
		t.start(f)
	}
}

// untilNextLocked returns the time until the next function is due, and whether it is due. If end is true, all functions count as
// due. t.mu is held.
func (t *timetable) untilNextLocked(now int64, end bool) (wait time.Duration, due bool) {
	for t.waiting.Len() > 0 {
		at, e := t.waiting.Min()
		if e.f == nil { // it was started before, by hasten
			t.waiting.Pop()
			continue
		}
		if at <= now || end {
			return 0, true
		}
		return time.Duration(at - now), false
	}
	return time.Hour, false
}
