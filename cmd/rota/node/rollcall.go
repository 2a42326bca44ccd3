package node

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/rollcall"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// startRollcall starts the observation of the other replicas. It follows the start of the clocks, which ask them.
func (n *Node) startRollcall(background starter) {
	n.events = rollcall.NewLog(n.store, n.mirror)
	n.calls = rollcall.New(rollcall.Config{
		Name: n.set.Node.Name, Now: n.now, Ask: n.clocks.Term, Publish: n.replica.ShowOutages,
		Replicas: func() []*job.Replica { return append(n.events.Left(), n.mirror.Replicas()...) },
		Term:     func() int64 { return n.scheduler.Status().Term },
	})
	background("follow the events of the cluster", n.events.Run)
	background("call the other replicas", n.calls.Run)
}

// awaitDeath is election.AwaitDeath. It also records when the process died.
func (n *Node) awaitDeath(ctx context.Context, addr string) bool {
	at, dead := election.AwaitDeathAt(ctx, addr)
	if dead {
		n.calls.Died(addr, n.now().Add(-time.Since(at)))
	}
	return dead
}

// recordEvents keeps the events of the cluster up to date for one term.
func (n *Node) recordEvents(ctx context.Context, term election.Term, since, led time.Time) {
	rollcall.Record(ctx, rollcall.Recording{
		Store: n.store, Mirror: n.mirror, Log: n.events, Calls: n.calls, Name: n.set.Node.Name, Since: since, Led: led, Now: n.now,
	}, term, n.log)
}
