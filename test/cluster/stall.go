package cluster

import (
	"sync"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// stall is how long a machine stands still before the judge must know it: some leases may end then.
const stall = 2 * time.Second

// watchMachine records the times in which the machine itself stood still, as a virtual machine does that its host suspends. They are
// faults of every node.
func (c *Cluster) watchMachine() {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(stall / 10)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			now := time.Now()
			if now.Sub(last) > stall {
				c.Harm(history.Fault{Kind: history.Pause, At: last, Until: now})
			}
			last = now
		}
	})
	c.t.Cleanup(func() {
		close(over)
		wg.Wait()
	})
}
