package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
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
			w.guards = append(w.guards, absent(s.keys.worker(worker)))
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
	resp, err := s.client.Get(try, s.keys.worker(worker), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("look for worker %s: %w", worker, err)
	}
	return resp.Count > 0, nil
}
