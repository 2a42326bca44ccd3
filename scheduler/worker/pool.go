package worker

import (
	"context"
	"sync"
	"time"
)

// poolIdle is how long an idle goroutine of a pool waits for the next function.
const poolIdle = 100 * time.Millisecond

// pool runs functions on goroutines that it uses again. A new goroutine would first have to grow its stack to the depth that a
// claim needs, and would copy the stack several times.
type pool struct {
	wg   *sync.WaitGroup // counts the goroutines
	idle chan func()
}

// run runs f in the background. When ctx ends, idle goroutines end.
func (p *pool) run(ctx context.Context, f func()) {
	select {
	case p.idle <- f:
	default:
		p.wg.Go(func() { p.work(ctx, f) })
	}
}

func (p *pool) work(ctx context.Context, f func()) {
	limit := time.NewTimer(poolIdle)
	defer limit.Stop()
	for {
		f()
		limit.Reset(poolIdle)
		select {
		case f = <-p.idle:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
