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

// Orders delivers the orders of a worker, those that wait and then new ones, until ctx ends. An order may be delivered
// more than once. An order that cannot be read is removed, since nobody else would. OrdersHeard says how current it is.
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
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				take(kv)
			}
		},
		reset: func(int64) {},
		apply: func(_ int64, events []*clientv3.Event) {
			for _, ev := range events {
				if ev.Type == clientv3.EventTypePut {
					take(ev.Kv)
				}
			}
		},
		current: s.count.ordered,
	})
}

// CloseOrder removes an order that has nothing left to claim.
func (s *Store) CloseOrder(ctx context.Context, worker, id string) error {
	key := s.keys.order(worker, id)
	w := &write{}
	w.dropAnyway(key)
	if _, err := s.free.do(ctx, w); err != nil {
		return fmt.Errorf("close order %s of worker %s: %w", id, worker, err)
	}
	return nil
}

// OrdersHeard is an instant at which Orders had delivered every order that there was, the zero time before the first:
// while all is well, not longer ago than a few seconds.
func (s *Store) OrdersHeard() time.Time {
	if at := s.count.orders.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// SweepOrders removes the orders of workers that are not there, and says how many: a worker closes its own, those of its earlier
// sessions too, but one that never comes back closes none. It is the leader's to do, with ctx that of the term.
//
// Nothing is lost by it. An order tells, it does not decide, and it is for one session, which is over: another one that begins
// under the name meanwhile has the removal refused, and closes the order itself.
func (s *Store) SweepOrders(ctx context.Context, term election.Term) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	prefix := s.keys.family(KindQueues)
	there := make(map[string]bool) // workers, by name
	err = s.each(ctx, KindQueues, func(kvs []*mvccpb.KeyValue) error {
		for _, kv := range kvs {
			worker, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix), "/")
			if _, known := there[worker]; !known {
				is, err := s.isThere(ctx, worker)
				if err != nil {
					return err
				}
				there[worker] = is
			}
			if there[worker] {
				continue
			}
			w := &write{lane: string(kv.Key)}
			w.guards = append(w.guards, absent(s.keys.record(KindWorkers, worker)))
			w.drop(string(kv.Key), kv.ModRevision)
			switch _, err := s.led(ctx, term).do(ctx, w); {
			case errors.Is(err, job.ErrConflict):
				there[worker] = true
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

// isThere says whether there is a record of the presence of a worker.
func (s *Store) isThere(ctx context.Context, worker string) (bool, error) {
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := s.client.Get(try, s.keys.record(KindWorkers, worker), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("look for worker %s: %w", worker, err)
	}
	return resp.Count > 0, nil
}
