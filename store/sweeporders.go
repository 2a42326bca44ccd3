package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

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
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		resp, err := s.client.Get(try, from, clientv3.WithRange(end), clientv3.WithLimit(sweepPage), clientv3.WithKeysOnly())
		cancel()
		if err != nil {
			return removed, fmt.Errorf("list orders: %w", err)
		}
		for _, kv := range resp.Kvs {
			worker, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix), "/")
			if _, known := there[worker]; !known {
				if there[worker], err = s.isThere(ctx, worker); err != nil {
					return removed, err
				}
			}
			if there[worker] {
				continue
			}
			w := &write{lane: string(kv.Key)}
			w.guards = append(w.guards, absent(s.keys.worker(worker)))
			w.drop(string(kv.Key), kv.ModRevision)
			switch _, err := s.led(ctx, term).do(ctx, w); {
			case errors.Is(err, job.ErrConflict):
				there[worker] = true
			case err != nil:
				return removed, fmt.Errorf("remove orders of worker %s: %w", worker, err)
			default:
				removed++
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return removed, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// isThere says whether there is a record of the presence of a worker.
func (s *Store) isThere(ctx context.Context, worker string) (bool, error) {
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := s.client.Get(try, s.keys.worker(worker), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("look for worker %s: %w", worker, err)
	}
	return resp.Count > 0, nil
}
