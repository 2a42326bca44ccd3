package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/metadata"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher implements clientv3.Watcher on a link.
type watcher struct{ *link }

// Watch implements clientv3.Watcher.
func (l watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpWatch(key, opts...)
	if len(op.KeyBytes()) == 0 {
		op.WithKeyBytes([]byte{0}) // the smallest key
	}
	w := &watch{
		l:      l.link,
		op:     op,
		span:   spanOf(op.KeyBytes(), op.RangeBytes()),
		stream: streamOf(ctx),
		ctx:    ctx,
		out:    make(chan clientv3.WatchResponse, 1),
		wake:   make(chan struct{}, 1),
	}
	v, err := l.reach(ctx, &Op{Kind: Watch, Request: createRequest(op)})
	if err == nil && v.Action != Proceed {
		err = l.fail(ctx, v)
	}
	if err == nil {
		err = l.start(w)
	}
	if err != nil {
		// As in etcd's client: if the caller or the client has ended, the
		// channel is just closed. Any other failure is delivered first.
		if l.alive(ctx) == nil && !errors.Is(err, errClosing) {
			w.out <- clientv3.WatchResponse{Header: &pb.ResponseHeader{}, Canceled: true, CancelReason: rpctypes.ErrorDesc(err)}
		}
		close(w.out)
	}
	return w.out
}

// start adds w to the running watches.
func (l watcher) start(w *watch) error {
	s := l.srv
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if l.closed {
		return errClosing
	}
	w.begin()
	l.watches = append(l.watches, w)
	l.running.Go(w.run)
	return nil
}

// RequestProgress implements clientv3.Watcher: if all watches opened with
// contexts of the same metadata have received everything, each gets the revision.
func (l watcher) RequestProgress(ctx context.Context) error {
	s := l.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.closed {
		return errors.New("no stream found for context")
	}
	var together []*watch
	for _, w := range l.watches {
		if w.ended || w.stream != streamOf(ctx) {
			continue
		}
		if !w.synced() {
			return nil
		}
		together = append(together, w)
	}
	for _, w := range together {
		w.progress()
	}
	return nil
}

// Close implements clientv3.Watcher; it waits for the watches' goroutines.
func (l watcher) Close() error {
	s := l.srv
	s.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	if l.client.Ctx().Err() != nil {
		s.links = slices.DeleteFunc(s.links, func(x *link) bool { return x == l.link }) // the whole client is closed
	}
	s.mu.Unlock()
	l.running.Wait()
	return nil
}

// streamOf returns a name of the stream on which etcd's client would put a
// watch.
func streamOf(ctx context.Context) string {
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		return fmt.Sprintf("%+v", map[string][]string(md))
	}
	return ""
}

// createRequest returns the request that the client would send for op.
func createRequest(op clientv3.Op) *pb.WatchCreateRequest {
	r := &pb.WatchCreateRequest{
		Key:            op.KeyBytes(),
		RangeEnd:       op.RangeBytes(),
		StartRevision:  op.Rev(),
		ProgressNotify: op.IsProgressNotify(),
		PrevKv:         op.IsPrevKV(),
		Fragment:       op.IsFragment(),
	}
	if op.IsFilterPut() {
		r.Filters = append(r.Filters, pb.WatchCreateRequest_NOPUT)
	}
	if op.IsFilterDelete() {
		r.Filters = append(r.Filters, pb.WatchCreateRequest_NODELETE)
	}
	return r
}
