package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/cmd/rota/internal/notices"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// campaign takes part in the election while this replica's clock is right.
func (n *Node) campaign(ctx context.Context) error {
	return n.elector.RunTrusted(ctx, n.clocks.Peers(), n.lead)
}

// lead dispatches for one term. It starts when the mirror has the content that the store had when the term was won.
func (n *Node) lead(ctx context.Context, term election.Term) error {
	since, led := n.now().Round(0).UTC(), n.calls.Led()
	if err := n.awaitMirror(ctx, term.Won); err != nil {
		return err
	}
	n.metrics.TermBegan()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx) // the scheduler may notice the end of the term before the election does
	defer cancel()
	if n.set.Election.FastTakeover {
		wg.Go(func() { n.endDeadWorkers(ctx, term) })
	}
	wg.Go(func() {
		n.conn.Lead(ctx, etcdconn.Leading{Election: n.store.Keys().Election(), Answers: n.clocks.Answers})
	})
	wg.Go(func() {
		notices.Send(ctx, notices.Config{
			Store: n.store, Mirror: n.mirror, Services: n.services, Observer: n.metrics, Now: n.now, Addr: n.publicURL(),
			Show: n.replica.ShowUndelivered,
		}, term, n.log)
	})
	wg.Go(func() { notices.Beat(ctx, n.set.Notify.Ping, n.services, n.backend.Dispatches, n.log.Named("ping")) })
	wg.Go(func() { n.sweepOrders(ctx, term) })
	wg.Go(func() { n.sweepPast(ctx, term) })
	wg.Go(func() { n.recordEvents(ctx, term, since, led) })
	wg.Go(func() { n.sweepAudit(ctx, term) })
	n.clocks.StartTerm()
	return n.scheduler.Lead(ctx, term)
}

// sweepEvery is how often the leader removes old events, and tombstones that already existed at the last sweep.
const sweepEvery = 10 * time.Minute

func (n *Node) sweepPast(ctx context.Context, term election.Term) {
	last := int64(0)
	loop.Every(ctx, sweepEvery, func(ctx context.Context) {
		_, err := n.store.SweepTombstones(ctx, term, last)
		if err == nil && n.set.History.MaxAge > 0 {
			_, err = n.store.SweepEvents(ctx, term, n.now().Add(-n.set.History.MaxAge))
		}
		if list := n.events.Events(); err == nil && len(list) == timeline.MaxEvents {
			_, err = n.store.TrimCluster(ctx, term, list[0].ID)
		}
		if err != nil && ctx.Err() == nil {
			n.log.Debug("old events and tombstones were not removed", "err", err)
		}
		last = n.store.Reached()
	})
}

// sweepOrdersEvery is how often the leader removes orders of workers that have not come back.
const sweepOrdersEvery = time.Minute

func (n *Node) sweepOrders(ctx context.Context, term election.Term) {
	loop.Pause(ctx, sweepOrdersEvery)
	loop.Every(ctx, sweepOrdersEvery, func(ctx context.Context) {
		if _, err := n.store.SweepOrders(ctx, term); err != nil && ctx.Err() == nil {
			n.log.Debug("orders of workers that are gone were not removed", "err", err)
		}
	})
}

// The bounds of the audit trail, and how often the leader enforces them.
const (
	mostAudits      = 10_000
	oldestAudit     = 90 * 24 * time.Hour
	sweepAuditEvery = time.Minute
)

func (n *Node) sweepAudit(ctx context.Context, term election.Term) {
	loop.Every(ctx, sweepAuditEvery, func(ctx context.Context) {
		if _, err := n.store.SweepAudit(ctx, term, n.now().Add(-oldestAudit), mostAudits); err != nil && ctx.Err() == nil {
			n.log.Debug("old audit records were not removed", "err", err)
		}
	})
}
