package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runTable runs a timetable, in a bubble, until stop is called, which waits for its functions. q has places for two.
func runTable(t *testing.T) (table *timetable, q *queue, stop func()) {
	t.Helper()
	var wg sync.WaitGroup
	table = newTimetable(func(f func()) { wg.Go(f) })
	q = table.newQueue(2, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { table.run(ctx) })
	return table, q, func() { cancel(); wg.Wait() }
}

// record notes when things happened.
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
		table.after(t.Context(), time.Second, r.note(1)) // sooner than what it waits for
		table.after(t.Context(), time.Hour, r.note(4))   // until the end
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

// TestAHerdStartsInPortions: what is due at one instant is not all made ready to run at once, and what has ended makes way
// for it, for a while.
func TestAHerdStartsInPortions(t *testing.T) {
	const herd = 3*batchSize + 1
	var started, waiting int
	table := newTimetable(func(f func()) { f() })
	ends := table.newQueue(10, time.Hour)
	impatient := table.newQueue(10, 0)
	for range herd {
		table.after(t.Context(), 0, func() {
			started++
			ends.submit(func() { waiting++ })
		})
	}
	for i, want := range []struct{ started, waiting int }{
		{batchSize, batchSize}, // it is not known yet that more are due
		{2 * batchSize, batchSize},
		{3 * batchSize, batchSize},
		{herd, herd},
	} {
		_, more := table.startDue(false)
		table.late.Store(more)
		ends.startBatch()
		if got := (struct{ started, waiting int }{started, waiting}); got != want {
			t.Errorf("after %d portions %+v, want %+v", i+1, got, want)
		}
		if more != (want.started < herd) {
			t.Errorf("after %d portions, more are due: %t", i+1, more)
		}
		ran := false
		impatient.submit(func() { ran = true })
		impatient.startBatch()
		if !ran {
			t.Errorf("after %d portions, what has no patience makes way", i+1)
		}
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, q, stop := runTable(t)
		r := newRecord()
		for i := range 6 { // two at a time, each of which takes a second
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
