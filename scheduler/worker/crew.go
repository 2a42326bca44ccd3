package worker

import (
	"context"
	"sync"
	"time"
)

// crewRest is how long a goroutine of a crew waits for something else to do.
const crewRest = 100 * time.Millisecond

// crew runs functions on goroutines that it uses again: a new one has to grow its stack, by copying it several times, to
// the depth of a claim.
type crew struct {
	wg   *sync.WaitGroup // waits for the goroutines
	idle chan func()
}

// run runs f in the background. Goroutines that have nothing to do end with ctx.
func (c *crew) run(ctx context.Context, f func()) {
	select {
	case c.idle <- f:
	default:
		c.wg.Go(func() { c.work(ctx, f) })
	}
}

func (c *crew) work(ctx context.Context, f func()) {
	rest := time.NewTimer(crewRest)
	defer rest.Stop()
	for {
		f()
		rest.Reset(crewRest)
		select {
		case f = <-c.idle:
		case <-rest.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
