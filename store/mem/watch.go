package mem

import (
	"context"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// batchRevs is how many revisions a watch that catches up gets at a time.
const batchRevs = 1000

// watch is one watch from its creation to its end. The server adds responses to
// its queue, without bound, and its goroutine delivers them.
type watch struct {
	l      *link
	op     clientv3.Op
	span   span
	stream string // watches of one stream share progress requests
	ctx    context.Context
	out    chan clientv3.WatchResponse // closed by run
	wake   chan struct{}               // one slot; holds a token if the queue has changed

	// Guarded by srv.mu.
	queue  []clientv3.WatchResponse
	next   int64 // the first revision whose events are not queued yet
	resume int64 // where the client would watch again after a broken connection
	idle   bool  // no event since the last progress notification was due
	ended  bool  // the queue's last response cancels the watch
}

// push queues a response. The caller holds srv.mu.
func (w *watch) push(r clientv3.WatchResponse) {
	w.queue = append(w.queue, r)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// cancel queues the last response. The caller holds srv.mu.
func (w *watch) cancel(r clientv3.WatchResponse) {
	if w.ended {
		return
	}
	r.Canceled = true
	w.push(r)
	w.ended = true
}

// begin sets the first revision of a new watch, and queues the events that it
// has missed. The caller holds srv.mu.
func (w *watch) begin() {
	s := w.l.srv
	start := w.op.Rev()
	switch {
	case start < 0:
		w.cancel(clientv3.WatchResponse{Header: s.header(nil), CancelReason: rpctypes.ErrorDesc(rpctypes.ErrGRPCCompacted)})
		return
	case w.span.empty():
		w.cancel(clientv3.WatchResponse{Header: s.header(nil), CancelReason: "mvcc: watcher range is empty"})
		return
	}
	if w.op.IsCreatedNotify() {
		w.push(clientv3.WatchResponse{Header: s.header(nil), Created: true})
	}
	w.idle = true
	w.next, w.resume = start, start
	if start == 0 {
		// After a broken connection, the client watches again from the revision
		// of the creation, not from the revision after it.
		w.next, w.resume = s.data.rev+1, s.data.rev
	}
	w.catchUp()
}

// catchUp queues all events from next on, unless they are compacted or the
// client's watches are stalled. The caller holds srv.mu.
func (w *watch) catchUp() {
	d := w.l.srv.data
	if w.ended || w.l.stalled || w.l.hole != nil || w.next > d.rev {
		return
	}
	if w.next < d.compacted {
		w.compacted(d.compacted)
		return
	}
	log := d.since(w.next)
	w.next = d.rev + 1
	for len(log) > 0 {
		n, revs, last := 0, 0, int64(0)
		var events []*clientv3.Event
		for ; n < len(log); n++ {
			if !w.wants(log[n]) {
				continue
			}
			if log[n].rev > last {
				if revs++; revs > batchRevs {
					break
				}
				last = log[n].rev
			}
			events = append(events, w.event(log[n]))
		}
		log = log[n:]
		w.deliver(events, d.rev)
	}
}

// compacted ends the watch as one that fell behind a compaction. The caller
// holds srv.mu.
func (w *watch) compacted(rev int64) {
	w.cancel(clientv3.WatchResponse{
		Header:          &pb.ResponseHeader{ClusterId: clusterID, MemberId: memberID, RaftTerm: w.l.srv.term},
		CompactRevision: rev,
	})
}

func (w *watch) wants(c change) bool {
	switch {
	case !w.span.contains(c.rec.key):
		return false
	case c.deleted():
		return !w.op.IsFilterDelete()
	}
	return !w.op.IsFilterPut()
}

func (w *watch) event(c change) *clientv3.Event {
	e := &clientv3.Event{Type: mvccpb.Event_PUT, Kv: c.kv(c.rec.key)}
	if c.deleted() {
		e.Type = mvccpb.Event_DELETE
	}
	if w.op.IsPrevKV() && (c.deleted() || c.create != c.rev) {
		e.PrevKv = w.l.srv.data.before(c.rec.key, c.rev)
	}
	return e
}

// deliver queues events; the header of the response has revision rev. The
// caller holds srv.mu.
func (w *watch) deliver(events []*clientv3.Event, rev int64) {
	if len(events) == 0 {
		return
	}
	w.idle = false
	w.resume = events[len(events)-1].Kv.ModRevision + 1
	w.push(clientv3.WatchResponse{Header: w.l.srv.header(&pb.ResponseHeader{Revision: rev}), Events: events})
}

// progress queues a notification that the watch has every event. The caller
// holds srv.mu.
func (w *watch) progress() {
	rev := w.l.srv.data.rev
	w.resume = rev + 1
	w.push(clientv3.WatchResponse{Header: w.l.srv.header(nil)})
}

// synced reports whether the watch has every event. It is false while the watch
// waits for a future revision. The caller holds srv.mu.
func (w *watch) synced() bool {
	d := w.l.srv.data
	return !w.ended && !w.l.stalled && w.l.hole == nil && w.next > d.rev && w.op.Rev() <= d.rev
}

// notify passes the changes of a new revision to the watches. The caller holds
// mu.
func (s *Server) notify(changes []change) {
	rev := s.data.rev
	for _, l := range s.links {
		if l.stalled || l.hole != nil {
			continue // its watches catch up later
		}
		for _, w := range l.watches {
			if w.ended || w.next > rev {
				continue
			}
			w.next = rev + 1
			var events []*clientv3.Event
			for _, c := range changes {
				if w.wants(c) {
					events = append(events, w.event(c))
				}
			}
			w.deliver(events, rev)
		}
	}
}

// run delivers the queue until the watch, its context or its client ends.
func (w *watch) run() {
	defer w.remove()
	defer close(w.out)
	var tick <-chan time.Time
	if w.op.IsProgressNotify() {
		t := time.NewTicker(w.l.srv.cfg.ProgressInterval)
		defer t.Stop()
		tick = t.C
	}
	for {
		var out chan clientv3.WatchResponse
		head, ok := w.head()
		if ok {
			out = w.out
		}
		select {
		case out <- head:
			if w.pop() {
				return
			}
		case <-w.wake:
		case <-tick:
			w.tick()
		case <-w.ctx.Done():
			return
		case <-w.l.closing:
			return
		}
	}
}

func (w *watch) head() (r clientv3.WatchResponse, ok bool) {
	w.l.srv.mu.Lock()
	defer w.l.srv.mu.Unlock()
	if len(w.queue) == 0 {
		return r, false
	}
	return w.queue[0], true
}

// pop removes the first response of the queue. It reports whether that was the
// last response of the watch.
func (w *watch) pop() bool {
	w.l.srv.mu.Lock()
	defer w.l.srv.mu.Unlock()
	w.queue[0] = clientv3.WatchResponse{} // frees the memory of its events
	if w.queue = w.queue[1:]; len(w.queue) == 0 {
		w.queue = nil
	}
	return w.ended && len(w.queue) == 0
}

func (w *watch) tick() {
	w.l.srv.mu.Lock()
	defer w.l.srv.mu.Unlock()
	if w.idle && w.synced() {
		w.progress()
	}
	w.idle = true
}

func (w *watch) remove() {
	w.l.srv.mu.Lock()
	defer w.l.srv.mu.Unlock()
	w.l.watches = slices.DeleteFunc(w.l.watches, func(x *watch) bool { return x == w })
}
