package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// campaign stands for election while our clock is to be trusted.
func (n *Node) campaign(ctx context.Context) error {
	return n.elector.RunTrusted(ctx, n.clocks.peers, n.lead)
}

// lead dispatches for one term. What was in the store when the term was won has to be known first.
func (n *Node) lead(ctx context.Context, term election.Term) error {
	if err := n.awaitMirror(ctx, term.Won); err != nil {
		return err
	}
	n.metrics.terms.Inc()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx) // the scheduler may know first that the term is over
	defer cancel()
	if n.set.Election.FastTakeover {
		wg.Go(func() { n.attend(ctx, term) })
	}
	if n.member != nil {
		wg.Go(func() { n.keepApart(ctx) })
		c := &compactor{
			client: n.client, endpoint: n.member.Endpoint(), log: n.log.Named("etcd"),
			every: compactEvery, keep: compactKeep, usual: compactUsual, share: compactShare,
		}
		wg.Go(func() { c.run(ctx) })
	}
	wg.Go(func() { n.tell(ctx, term) })
	wg.Go(func() { n.sweepOrders(ctx, term) })
	wg.Go(func() { n.sweepPast(ctx, term) })
	n.clocks.own.Start(n.now())
	return n.scheduler.Lead(ctx, term)
}

// catchUpTimeout bounds the wait for the mirror.
const catchUpTimeout = 10 * time.Second

// catchUp waits until the mirror knows everything that was in the store when it was called.
func (n *Node) catchUp(ctx context.Context) error {
	rev, err := n.store.Revision(ctx)
	if err != nil {
		return err
	}
	return n.awaitMirror(ctx, rev)
}

// awaitMirror waits until the mirror knows everything up to rev.
func (n *Node) awaitMirror(ctx context.Context, rev int64) error {
	waiting, cancel := context.WithTimeoutCause(ctx, catchUpTimeout, errors.New("the watch of the store is behind"))
	defer cancel()
	return n.mirror.WaitFor(waiting, rev)
}

// sweepEvery is how often the leader looks for events that are too old to keep, and for tombstones that were there the last time.
const sweepEvery = 10 * time.Minute

func (n *Node) sweepPast(ctx context.Context, term election.Term) {
	for last := int64(0); ctx.Err() == nil; pause(ctx, sweepEvery) {
		_, err := n.store.SweepTombstones(ctx, term, last)
		if err == nil && n.set.History.MaxAge > 0 {
			_, err = n.store.SweepEvents(ctx, term, n.now().Add(-n.set.History.MaxAge))
		}
		if err != nil && ctx.Err() == nil {
			n.log.Debug("what is too old to keep was not removed", "err", err)
		}
		last = n.store.Reached()
	}
}

// sweepOrdersEvery is how often the leader looks for orders of workers that have not come back.
const sweepOrdersEvery = time.Minute

func (n *Node) sweepOrders(ctx context.Context, term election.Term) {
	for pause(ctx, sweepOrdersEvery); ctx.Err() == nil; pause(ctx, sweepOrdersEvery) {
		if _, err := n.store.SweepOrders(ctx, term); err != nil && ctx.Err() == nil {
			n.log.Debug("orders of workers that are gone were not removed", "err", err)
		}
	}
}
