package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Snapshot reads every mirrored record and every event as of one revision. If a key belongs to no kind of records, its
// record comes without a kind and as unreadable.
func (s *Store) Snapshot(ctx context.Context) (records []job.Change, rev int64, err error) {
	rev, err = s.Walk(ctx, func(c job.Change) { records = append(records, c) })
	if err != nil {
		return nil, 0, err
	}
	return records, rev, nil
}

// Walk hands the records of a Snapshot to take, page by page. So it needs the memory of two pages. take must not block.
func (s *Store) Walk(ctx context.Context, take func(job.Change)) (rev int64, err error) {
	return s.pages(ctx, s.keys.All(), func(page []*mvccpb.KeyValue) {
		for _, kv := range page {
			kind, name, ok := s.keys.Parse(string(kv.Key))
			if ok && !familyOf(kind).reported() {
				continue
			}
			c := decodeKV(kind, name, kv)
			c.Key, c.Create = string(kv.Key), kv.CreateRevision
			take(c)
		}
	})
}

// BriefLog is how much of the log a live store can read, in bytes. For each step of a watch of the past, etcd reads everything
// since the start of that step, and applies no write meanwhile. With more, processes would lose their leases.
const BriefLog = 8 << 20

// minRevision is the number of bytes that Log counts at least for a revision, which other clients of etcd may have written.
const minRevision = 1 << 10

// maxSpan bounds a step of Log in revisions, because older revisions may be much larger than later ones.
const maxSpan = 512

// Log reads the latest changes up to revision upTo that etcd has not compacted. It goes back in steps until it has read enough
// bytes. The last step may read as much again, or more if older revisions are larger. With math.MaxInt, Log reads everything in
// one step. It returns the changes of one revision together. from is the oldest revision that it has read: 1 if it has read all.
func (s *Store) Log(ctx context.Context, upTo int64, enough int) (from int64, log [][]job.Change, err error) {
	from, span := upTo+1, int64(16)
	if enough == math.MaxInt {
		span = upTo
	}
	for read := 0; from > 1 && read < enough; span = min(2*span, maxSpan) {
		start, older, bytes, err := s.logBetween(ctx, max(1, from-span), from-1)
		if err != nil {
			return 0, nil, err
		}
		if start >= from { // etcd has compacted everything before
			break
		}
		log = append(older, log...)
		read += max(bytes, int(from-start)*minRevision)
		from = start
	}
	return from, log, nil
}

// logBetween reads the changes of the revisions from start to end. It returns the oldest of them that etcd has not compacted, which
// is beyond end if none is left, and the number of bytes that it read.
func (s *Store) logBetween(ctx context.Context, start, end int64) (from int64, log [][]job.Change, bytes int, err error) {
	for logins := 0; ; {
		log, bytes, err = s.logFrom(ctx, start, end)
		var compacted *compactedError
		switch {
		case errors.As(err, &compacted) && compacted.revision > end:
			return compacted.revision, nil, 0, nil
		case errors.As(err, &compacted):
			start = compacted.revision
		case logins < maxLogins && (isCode(err, rpctypes.ErrInvalidAuthToken) || status.Code(err) == codes.Unauthenticated):
			// Another member of etcd issued the token, and this one learns it a moment later.
			logins++
			select {
			case <-ctx.Done():
			case <-time.After(minPause):
			}
		default:
			return start, log, bytes, err
		}
	}
}

// maxLogins is how often Log watches again if etcd does not know the token of the client.
const maxLogins = 10

// compactedError says that etcd has compacted the log. revision is the oldest revision that is left.
type compactedError struct{ revision int64 }

func (e *compactedError) Error() string {
	return fmt.Sprintf("compacted up to revision %d", e.revision)
}

func (s *Store) logFrom(ctx context.Context, from, upTo int64) (log [][]job.Change, bytes int, err error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), time.Minute)
	defer cancel()
	watch := s.client.Watch(ctx, s.keys.All(), clientv3.WithPrefix(), clientv3.WithRev(from))
	probe := time.NewTicker(200 * time.Millisecond)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("read log from revision %d: %w", from, context.Cause(ctx))
		case <-probe.C: // the response shows that everything up to its revision was delivered
			if err := s.client.RequestProgress(ctx); err != nil {
				return nil, 0, fmt.Errorf("read log from revision %d: %w", from, err)
			}
		case resp, ok := <-watch:
			switch {
			case !ok:
				return nil, 0, fmt.Errorf("read log from revision %d: the watch was closed", from)
			case resp.CompactRevision != 0:
				return nil, 0, &compactedError{resp.CompactRevision}
			case resp.Err() != nil:
				return nil, 0, fmt.Errorf("read log from revision %d: %w", from, resp.Err())
			}
			for _, e := range resp.Events {
				if e.Kv.ModRevision <= upTo {
					bytes += len(e.Kv.Key) + len(e.Kv.Value)
				}
			}
			for _, batch := range s.changes(resp.Events) {
				if batch[0].Rev > upTo {
					return log, bytes, nil
				}
				log = append(log, batch)
			}
			if resp.Header.Revision >= upTo && resp.IsProgressNotify() {
				return log, bytes, nil
			}
		}
	}
}
