package worker

import (
	"slices"
	"sync"
	"time"
)

// poolIdle is how long at least an idle goroutine of a pool waits for the next function. It waits at most twice as long.
const poolIdle = 100 * time.Millisecond

// pool runs functions on goroutines that it uses again. A new goroutine would first have to grow its stack to the depth that a
// claim needs, and would copy the stack several times.
type pool struct {
	wg *sync.WaitGroup // counts the goroutines

	mu     sync.Mutex
	idle   []chan func() // guarded by mu: the channels of the idle goroutines, the latest last; each has room for one function
	unused int           // guarded by mu: how many of them have been idle since the last call of shrink
	timer  *time.Timer   // guarded by mu: will call shrink; nil: it will not
	ended  bool          // guarded by mu: no goroutine waits any more
}

// run runs f in the background.
func (p *pool) run(f func()) {
	p.mu.Lock()
	last := len(p.idle) - 1
	if last < 0 {
		p.mu.Unlock()
		p.wg.Go(func() { p.work(f) })
		return
	}
	next := p.idle[last]
	p.idle = p.idle[:last]
	p.unused = min(p.unused, last)
	p.mu.Unlock()
	next <- f
}

// work runs f and then further functions, until the goroutine has been idle for too long.
func (p *pool) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f()
		if !p.wait(next) {
			return
		}
		f = <-next
	}
}

// wait adds the channel of an idle goroutine. It returns false if the pool has ended.
func (p *pool) wait(next chan func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.idle = append(p.idle, next)
	if p.timer == nil {
		p.timer = time.AfterFunc(poolIdle, p.shrink)
	}
	return true
}

// shrink ends the goroutines that have been idle since its last call. It is called again while there are others.
func (p *pool) shrink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended { // while the timer waited for mu
		return
	}
	p.endIdle(p.unused)
	p.unused, p.timer = len(p.idle), nil
	if p.unused > 0 {
		p.timer = time.AfterFunc(poolIdle, p.shrink)
	}
}

// end ends the idle goroutines. From now on, each function gets a goroutine of its own.
func (p *pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.endIdle(len(p.idle))
	if p.timer != nil {
		p.timer.Stop()
	}
}

// endIdle ends the n goroutines that have been idle longest. p.mu is held.
func (p *pool) endIdle(n int) {
	for _, next := range p.idle[:n] {
		next <- nil
	}
	p.idle = slices.Delete(p.idle, 0, n)
}
