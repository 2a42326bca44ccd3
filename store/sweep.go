package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// SweepEvents removes the events from before an instant, and says how many. It is the leader's to do, with ctx that of the
// term.
func (s *Store) SweepEvents(ctx context.Context, term election.Term, before time.Time) (removed int, err error) {
	oldest := []byte(before.UTC().Format(job.EventStamp))
	removed, err = s.sweep(ctx, term, KindEvents, func(kv *mvccpb.KeyValue) bool {
		id := kv.Key[bytes.LastIndexByte(kv.Key, '/')+1:]
		return bytes.Compare(id, oldest) < 0
	})
	if err != nil {
		return removed, fmt.Errorf("remove events: %w", err)
	}
	return removed, nil
}

// sweep removes the records of a kind that are old, many in one transaction, and says how many.
func (s *Store) sweep(ctx context.Context, term election.Term, kind Kind, old func(kv *mvccpb.KeyValue) bool) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	lane := s.keys.family(kind)
	err = s.each(ctx, kind, func(kvs []*mvccpb.KeyValue) error {
		w := &write{lane: lane}
		for i, kv := range kvs {
			if old(kv) {
				w.drop(string(kv.Key), kv.ModRevision)
			}
			if n := len(w.then); n == job.MaxDrops || n > 0 && i == len(kvs)-1 {
				if _, err := s.led(ctx, term).do(ctx, w); err != nil {
					return err
				}
				removed += n
				w = &write{lane: lane}
			}
		}
		return nil
	})
	return removed, err
}
