package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runTable runs a timetable in a bubble until stop is called. stop waits for its functions. q runs two functions at a time.
func runTable(t *testing.T) (table *timetable, q *queue, stop func()) {
	t.Helper()
	var wg sync.WaitGroup
	table = newTimetable(func(f func()) { wg.Go(f) })
	q = table.newQueue(2, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { table.run(ctx) })
	return table, q, func() { cancel(); wg.Wait() }
}

// record records when functions ran.
type record struct {
	mu    sync.Mutex
	began time.Time
	at    map[int]time.Duration
	order []int
}

func newRecord() *record { return &record{began: time.Now(), at: make(map[int]time.Duration)} }

func (r *record) note(i int) func() {
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.at[i] = time.Since(r.began)
		r.order = append(r.order, i)
	}
}

func TestTimetable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _, stop := runTable(t)
		r := newRecord()
		called, call := context.WithCancel(t.Context())
		ended, end := context.WithCancel(t.Context())
		end()
		table.after(t.Context(), 3*time.Second, r.note(3))
		table.after(t.Context(), time.Second, r.note(1)) // sooner than the first entry
		table.after(t.Context(), time.Hour, r.note(4))   // until stop
		table.after(t.Context(), -time.Second, r.note(0))
		table.after(called, time.Hour, r.note(2))
		table.after(ended, time.Hour, r.note(5))
		after(2 * time.Second)
		call()
		after(8 * time.Second)
		stop()
		table.after(t.Context(), time.Hour, r.note(6))
		synctest.Wait()
		want := map[int]time.Duration{0: 0, 1: time.Second, 2: 2 * time.Second, 3: 3 * time.Second, 4: 10 * time.Second, 5: 0, 6: 10 * time.Second}
		for i, at := range want {
			if got, done := r.at[i]; !done || got != at {
				t.Errorf("%d was started after %s (%t), want %s", i, got, done, at)
			}
		}
	})
}

// TestDueFunctionsStartInBatches makes many functions due at one instant. They start in batches, and functions of a queue yield
// to them for a bounded time.
func TestDueFunctionsStartInBatches(t *testing.T) {
	const many = 3*batchSize + 1
	var started, waiting int
	table := newTimetable(func(f func()) { f() })
	ends := table.newQueue(10, time.Hour)
	urgent := table.newQueue(10, 0)
	for range many {
		table.after(t.Context(), 0, func() {
			started++
			ends.submit(func() { waiting++ })
		})
	}
	for i, want := range []struct{ started, waiting int }{
		{batchSize, batchSize}, // the table has not noticed yet that more are due
		{2 * batchSize, batchSize},
		{3 * batchSize, batchSize},
		{many, many},
	} {
		_, more := table.startDue(false)
		table.late.Store(more)
		ends.startBatch()
		if got := (struct{ started, waiting int }{started, waiting}); got != want {
			t.Errorf("after %d batches %+v, want %+v", i+1, got, want)
		}
		if more != (want.started < many) {
			t.Errorf("after %d batches, more are due: %t", i+1, more)
		}
		ran := false
		urgent.submit(func() { ran = true })
		urgent.startBatch()
		if !ran {
			t.Errorf("after %d batches, a function that must not yield waits", i+1)
		}
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, q, stop := runTable(t)
		r := newRecord()
		for i := range 6 { // each takes a second, and the queue runs two at a time
			table.start(func() {
				q.submit(func() {
					r.note(i)()
					<-time.After(time.Second)
				})
			})
			synctest.Wait()
		}
		after(time.Minute)
		stop()
		if !slices.IsSorted(r.order) || len(r.order) != 6 {
			t.Errorf("the order was %v", r.order)
		}
		for i, at := range r.at {
			if want := time.Duration(i/2) * time.Second; at != want {
				t.Errorf("%d ran after %s, want %s", i, at, want)
			}
		}
	})
}
