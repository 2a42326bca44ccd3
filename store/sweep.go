package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// sweepPage is how many events are looked at with one request.
const sweepPage = 2_000

// SweepEvents removes the events from before an instant, and says how many. It is the leader's to do, with ctx that of the
// term.
func (s *Store) SweepEvents(ctx context.Context, term election.Term, before time.Time) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	oldest := before.UTC().Format(job.EventStamp)
	prefix := s.keys.family(KindEvents)
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		resp, err := s.client.Get(try, from, clientv3.WithRange(end), clientv3.WithLimit(sweepPage))
		cancel()
		if err != nil {
			return removed, fmt.Errorf("list events: %w", err)
		}
		w := &write{lane: prefix}
		for i, kv := range resp.Kvs {
			key := string(kv.Key)
			if id := key[strings.LastIndexByte(key, '/')+1:]; id < oldest {
				w.drop(key, kv.ModRevision)
			}
			if n := len(w.then); n == job.MaxDrops || n > 0 && i == len(resp.Kvs)-1 {
				if _, err := s.led(ctx, term).do(ctx, w); err != nil {
					return removed, fmt.Errorf("remove events: %w", err)
				}
				removed += n
				w = &write{lane: prefix}
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return removed, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
