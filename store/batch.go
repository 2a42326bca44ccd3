package store

import (
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// The bounds of one request. etcd accepts 128 operations: those of the request plus those of the largest transaction
// nested in it. It accepts 1.5 MiB. The bounds leave room for the encoding.
const (
	maxWrites = 100
	maxOps    = 128
	maxBytes  = 5 << 18
	opBytes   = 32 // of one guard or operation besides key and value, at most
)

// batch holds the writes of one request.
type batch struct {
	writes []*write
	orders orders
	bytes  int
	depth  int             // operations of the largest write
	limits map[string]bool // names of the limits that its writes give to runs
	apart  bool            // each write compares the gate by itself
}

// sharedGate returns the guard of the gate that the request makes for all its writes. It returns false if each write makes its
// own: the leader knew different gates, or the request was refused because the gate has changed.
func (b *batch) sharedGate() (gate gateGuard, shared bool) {
	n := 0
	for _, w := range b.writes {
		switch {
		case w.gate.key == "":
		case n > 0 && w.gate != gate:
			return gateGuard{}, false
		default:
			gate, n = w.gate, n+1
		}
	}
	return gate, n > 1 && !b.apart
}

// clashes reports whether w gives a run a limit that another write of the batch gives to another run. Fencing tokens
// are revisions, and they must rise from one holder of a limit to the next.
func (b *batch) clashes(w *write) bool {
	return slices.ContainsFunc(w.limits, func(name string) bool { return b.limits[name] })
}

// add adds w and returns true, unless the request would become too large for etcd. It always adds the first write: etcd itself says
// whether that is too large.
func (b *batch) add(w *write) bool {
	ops := len(b.writes) + 1 + b.orders.with(w.order)
	depth := max(b.depth, len(w.guards)+1, len(w.ops())) // 1: the guard of the gate
	bytes := b.bytes + w.size()
	if len(b.writes) > 0 && (len(b.writes) == maxWrites || ops+depth > maxOps || bytes > maxBytes) {
		return false
	}
	b.writes = append(b.writes, w)
	b.orders.add(w.order)
	b.bytes, b.depth = bytes, depth
	for _, name := range w.limits {
		if b.limits == nil {
			b.limits = make(map[string]bool)
		}
		b.limits[name] = true
	}
	return true
}

// removeAbandoned removes and returns the writes whose callers gave up. Such a write must not be sent again: an earlier
// sending may have created a run, and the run may have ended and been removed since. The write would create it a second
// time.
func (b *batch) removeAbandoned() (gone []*write) {
	if !slices.ContainsFunc(b.writes, (*write).isAbandoned) {
		return nil
	}
	all := b.writes
	*b = batch{apart: b.apart}
	for _, w := range all {
		if w.isAbandoned() {
			gone = append(gone, w)
		} else {
			b.add(w) // it fits, because it did with more
		}
	}
	return gone
}

// ops returns the operations of the request. The i-th response is that of the i-th write.
func (b *batch) ops() ([]*pb.RequestOp, error) {
	ops := make([]*pb.RequestOp, 0, len(b.writes)+len(b.orders.list))
	_, gated := b.sharedGate()
	for _, w := range b.writes {
		ops = append(ops, w.nested(gated))
	}
	orders, err := b.orders.ops()
	return append(ops, orders...), err
}

// unanswered records that a sending of the batch was not answered, and may be applied at any time.
func (b *batch) unanswered() {
	for _, w := range b.writes {
		w.open = true
	}
}

func (b *batch) open() bool {
	return slices.ContainsFunc(b.writes, func(w *write) bool { return w.open })
}

// size returns how much w adds to a request, in bytes, rounded up.
func (w *write) size() (n int) {
	n = w.bytes + opBytes*(len(w.guards)+len(w.ops()))
	for _, guard := range w.guards {
		n += len(guard.Key)
	}
	if w.gate.key != "" {
		n += opBytes + len(w.gate.key)
	}
	if w.order != nil {
		n += len(w.order.run) + len(w.order.stop) + 2*len(w.order.queue) + len(w.order.session) + 4*opBytes
	}
	return n
}
