package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// SweepEvents removes the events from before an instant, and says how many. It is the leader's to do, with ctx that of the
// term.
func (s *Store) SweepEvents(ctx context.Context, term election.Term, before time.Time) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	oldest := before.UTC().Format(job.EventStamp)
	lane := s.keys.family(KindEvents)
	err = s.each(ctx, KindEvents, func(kvs []*mvccpb.KeyValue) error {
		w := &write{lane: lane}
		for i, kv := range kvs {
			key := string(kv.Key)
			if id := key[strings.LastIndexByte(key, '/')+1:]; id < oldest {
				w.drop(key, kv.ModRevision)
			}
			if n := len(w.then); n == job.MaxDrops || n > 0 && i == len(kvs)-1 {
				if _, err := s.led(ctx, term).do(ctx, w); err != nil {
					return fmt.Errorf("remove events: %w", err)
				}
				removed += n
				w = &write{lane: lane}
			}
		}
		return nil
	})
	return removed, err
}
