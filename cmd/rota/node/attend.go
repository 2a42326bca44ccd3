package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// attendPoll is how often the leader looks for workers that have come or gone.
const attendPoll = 500 * time.Millisecond

// attend ends the presence of workers whose processes are proven dead, so that their runs move at once and not with their
// leases. A wrong proof costs a worker its session, which it opens anew; its runs are protected by their tokens.
func (n *Node) attend(ctx context.Context, term election.Term) {
	var wg sync.WaitGroup
	defer wg.Wait()
	attended := make(map[string]context.CancelFunc) // by session
	defer func() {
		for _, leave := range attended {
			leave()
		}
	}()
	for ctx.Err() == nil {
		present := make(map[string]bool)
		for _, w := range n.mirror.Workers() {
			present[w.Session] = true
			if attended[w.Session] != nil || w.Addr == "" || w.Name == n.set.Node.Name {
				continue
			}
			visit, leave := context.WithCancel(ctx)
			attended[w.Session] = leave
			wg.Go(func() { n.awaitDeath(visit, term, w) })
		}
		for session, leave := range attended {
			if !present[session] {
				leave()
				delete(attended, session)
			}
		}
		pause(ctx, attendPoll)
	}
}

// awaitDeath ends one worker's presence once its process is proven dead.
func (n *Node) awaitDeath(ctx context.Context, term election.Term, w *job.Worker) {
	for ctx.Err() == nil {
		if !election.AwaitDeath(ctx, w.Addr) {
			pause(ctx, attendPoll)
			continue
		}
		now, ok := n.mirror.Worker(w.Name) // its record may have been written anew, to drain
		if !ok || now.Session != w.Session {
			return
		}
		ending, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := n.store.EndWorker(ending, term, now)
		cancel()
		switch {
		case err == nil:
			n.log.Warn("the worker's process is dead, its runs move", "worker", w.Name)
			return
		case !errors.Is(err, job.ErrConflict):
			n.log.Debug("the dead worker's presence was not ended", "worker", w.Name, "err", err)
			return
		}
	}
}
