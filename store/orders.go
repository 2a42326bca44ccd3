package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Orders delivers the orders of a worker, first the existing ones and then new ones, until ctx ends. It may deliver an
// order more than once. It removes unreadable orders, because no other process removes them. OrdersHeard reports how
// current it is.
func (s *Store) Orders(ctx context.Context, worker string, deliver func(job.Order)) error {
	prefix := s.keys.queue(worker)
	take := func(kv *mvccpb.KeyValue) {
		id := string(kv.Key[len(prefix):])
		o, err := decodeOrder(id, kv.Value, kv.ModRevision)
		if err != nil {
			s.log.Error("order is unreadable and removed", "key", string(kv.Key), "err", err)
			_ = s.CloseOrder(ctx, worker, id)
			return
		}
		deliver(o)
	}
	return s.follow(ctx, prefix, follower{
		begin: func() {},
		reset: func(int64) {},
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				take(kv)
			}
		},
		consumer: consumer{current: s.count.ordersCurrent, apply: func(_ int64, events []*clientv3.Event) {
			for _, ev := range events {
				if ev.Type == clientv3.EventTypePut {
					take(ev.Kv)
				}
			}
		}},
	})
}

// CloseOrder removes an order whose runs are all claimed or refused.
func (s *Store) CloseOrder(ctx context.Context, worker, id string) error {
	key := s.keys.order(worker, id)
	w := &write{}
	w.dropAnyway(key)
	if _, err := s.free.do(ctx, w); err != nil {
		return fmt.Errorf("close order %s of worker %s: %w", id, worker, err)
	}
	return nil
}

// OrdersHeard returns an instant at which Orders had delivered every order; zero before the first. In normal operation
// it is at most a few seconds ago.
func (s *Store) OrdersHeard() time.Time {
	if at := s.count.orders.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// SweepOrders removes the orders of absent workers, and returns how many. A worker closes its own orders, also those of its earlier
// sessions, but a worker that never returns closes none. Only the leader calls SweepOrders, with the context of its term.
//
// Nothing is lost: orders only inform, and they are for a session that has ended. If a worker of the name returns
// meanwhile, etcd refuses the removal, and the worker closes the order itself. A worker that puts its presence back has read the
// orders of its session, or the leader takes the runs back after ClaimTimeout.
func (s *Store) SweepOrders(ctx context.Context, term election.Term) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	prefix := s.keys.family(KindQueues)
	present := make(map[string]bool) // by worker
	err = s.each(ctx, KindQueues, func(kvs []*mvccpb.KeyValue) error {
		for _, kv := range kvs {
			worker, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix), "/")
			if _, known := present[worker]; !known {
				is, err := s.isPresent(ctx, worker)
				if err != nil {
					return err
				}
				present[worker] = is
			}
			if present[worker] {
				continue
			}
			w := &write{lane: string(kv.Key)}
			w.guards = append(w.guards, absent(s.keys.record(KindWorkers, worker)))
			w.drop(string(kv.Key), kv.ModRevision)
			switch _, err := s.led(ctx, term).do(ctx, w); {
			case errors.Is(err, job.ErrConflict):
				present[worker] = true
			case err != nil:
				return fmt.Errorf("remove orders of worker %s: %w", worker, err)
			default:
				removed++
			}
		}
		return nil
	}, clientv3.WithKeysOnly())
	return removed, err
}

// isPresent reports whether a worker has a presence record.
func (s *Store) isPresent(ctx context.Context, worker string) (bool, error) {
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := s.client.Get(try, s.keys.record(KindWorkers, worker), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("read presence of worker %s: %w", worker, err)
	}
	return resp.Count > 0, nil
}
