package worker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPool checks that the goroutines of a pool are used again, end when they are idle, and end with the pool.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		p := &pool{wg: &wg}
		idle := func(want int) {
			t.Helper()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.idle) != want {
				t.Errorf("%d goroutines are idle, want %d", len(p.idle), want)
			}
		}
		run := func(n int) {
			var begun sync.WaitGroup
			begun.Add(n)
			for range n {
				p.run(func() { begun.Done(); begun.Wait() })
			}
		}
		run(5)
		idle(5)
		run(2)
		idle(5)
		for range 10 {
			time.Sleep(poolIdle / 2)
			run(2)
		}
		idle(2) // the others were not used
		time.Sleep(2 * poolIdle)
		idle(0)
		run(3)
		idle(3)
		p.end()
		wg.Wait()
		run(4)
		idle(0)
		wg.Wait()
	})
}

// The timer of a pool may fire while the pool ends.
func TestATimerOfAPoolThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		p := &pool{wg: &wg}
		p.run(func() {})
		time.Sleep(poolIdle) // from now on, the goroutine counts as unused
		synctest.Wait()
		p.end()
		p.shrink()
		p.run(func() {}) // not blocked by the timer
		wg.Wait()
	})
}
