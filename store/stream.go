package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// stream is a watch that etcd has accepted.
type stream struct {
	prefix    string
	after     int64 // the watch delivers what happened after this revision
	responses clientv3.WatchChan
	ctx       context.Context // of the watch
	end       context.CancelFunc
	suspect   context.Context // ends when a member becomes suspect
}

// open begins a watch of the keys under a prefix, after a revision. The caller must call end.
//
// If etcd does not accept the watch in time, or a member becomes suspect meanwhile, open abandons it and begins another, which may
// go to another member. It gives up after maxSilence.
func (s *Store) open(ctx context.Context, prefix string, after int64) (*stream, error) {
	for began := time.Now(); time.Since(began) < maxSilence; {
		w := &stream{prefix: prefix, after: after, suspect: s.suspect.next()}
		w.ctx, w.end = context.WithCancel(s.ownStream(ctx)) //nolint:fatcontext // the context of a new stream each time
		overdue, suspected := time.AfterFunc(tryTimeout, w.end), context.AfterFunc(w.suspect, w.end)
		w.responses = s.client.Watch(w.ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1))
		if inTime, trusted := overdue.Stop(), suspected(); inTime && trusted {
			return w, nil
		}
		w.end()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("watch %s: etcd did not accept it for %v", prefix, maxSilence)
}

// ownStream returns a context whose watch gets a gRPC stream of its own. The client puts watches with equal metadata on
// one stream, which has three faults. A stream that hangs is not replaced while another watch uses it. etcd answers
// RequestProgress only when all its watches are up to date. And the client panics if the server is just canceling one
// of them.
func (s *Store) ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "rota-stream", s.ids.next())
}

// consumer receives the events of a watch.
type consumer struct {
	apply    func(reached int64, events []*clientv3.Event) // after these events, all changes up to reached are delivered
	current  func(at time.Time)                            // all changes before this instant are delivered; may be nil
	probeNow <-chan struct{}                               // each message asks for a probe at once; may be nil
}

// read passes to c what the watch delivers, until the watch ends, fails or makes no progress, and ends it. The error
// says why; it is the context's cause if the caller ended the watch.
func (s *Store) read(w *stream, c consumer) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer w.end()
	probes := make(chan probed)
	wg.Go(func() { s.probe(w, c.probeNow, probes) })
	for dog := (watchdog{prefix: w.prefix, reached: w.after, progress: time.Now()}); ; {
		select {
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		case p := <-probes:
			if err := dog.expect(p, time.Now()); err != nil {
				return err
			}
		case resp, ok := <-w.responses:
			if !ok {
				return fmt.Errorf("watch %s: closed", w.prefix)
			}
			if err := resp.Err(); err != nil {
				return fmt.Errorf("watch %s: %w", w.prefix, err)
			}
			if s.count.reached.wentBack() != 0 {
				return fmt.Errorf("watch %s: %w", w.prefix, errWentBack)
			}
			s.tries.observeTerm(resp.Header.RaftTerm)
			before := dog.reached
			if dog.observe(&resp, time.Now()); dog.reached > before || len(resp.Events) > 0 {
				s.count.reached.raise(resp.Header.ClusterId, dog.reached)
				c.apply(dog.reached, resp.Events)
			}
		}
		if at, ok := dog.current(); ok && c.current != nil {
			c.current(at)
		}
	}
}
