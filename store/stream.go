package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// stream is a watch that etcd has taken on.
type stream struct {
	told  clientv3.WatchChan
	ctx   context.Context // of the watch
	end   context.CancelFunc
	doubt context.Context // ends when the watch is doubted
}

// open begins a watch of what is under a prefix, after a revision. The caller must call end. One that etcd does not take on in
// time, or that is doubted meanwhile, is left to itself, and another one begun in its place, which may go to another member: until
// silence has passed.
func (s *Store) open(ctx context.Context, prefix string, after int64) (*stream, error) {
	for began := time.Now(); time.Since(began) < silence; {
		w := &stream{doubt: s.doubt.next()}
		w.ctx, w.end = context.WithCancel(s.ownStream(ctx))
		overdue, doubted := time.AfterFunc(tryTimeout, w.end), context.AfterFunc(w.doubt, w.end)
		w.told = s.client.Watch(w.ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1))
		if early, certain := overdue.Stop(), doubted(); early && certain {
			return w, nil
		}
		w.end()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("watch %s: not taken on for %v", prefix, silence)
}

// ownStream gives the watch that is opened with it a stream of its own. The client puts watches with equal metadata on one
// stream: one that hangs is not replaced as long as another watch is on it, or one that was not taken on has been; etcd answers
// RequestProgress only when all of them are up to date, and the client sends the answer to all and panics if one of them is just
// being canceled by the server.
func (s *Store) ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "rota-stream", s.ops.next())
}
