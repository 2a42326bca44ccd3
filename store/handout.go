package store

import (
	"encoding/json"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// handout is the part of one write that is for a worker: a run to execute, or a run to stop.
type handout struct {
	id      string // of the order, if this handout is the first in it
	queue   string // prefix of the worker's queue
	session string
	run     json.RawMessage
	jobRev  int64 // revision of the definition from which run was armed; 0: run has its own spec
	stop    string
}

// order is a job.Order whose runs are encoded already.
type order struct {
	ID      string            `json:"id"`
	Session string            `json:"session"`
	JobRevs []int64           `json:"jobs,omitempty"`
	Stop    []string          `json:"stop,omitempty"`
	Runs    []json.RawMessage `json:"runs,omitempty"`

	queue string
}

// orders gathers the handouts of a batch into one order per session of a worker.
//
// An order only informs the worker; the records decide. An order may contain runs and stops whose own writes were refused. A
// request may also be applied a second time, after the worker closed the first order. Then a second order appears. The runs in
// such orders have tokens that differ from their records, so etcd refuses their claims. A worker kills an attempt only if the
// run's record says so.
type orders struct{ list []*order }

func (o *orders) find(h *handout) *order {
	for _, known := range o.list {
		if known.queue == h.queue && known.Session == h.session {
			return known
		}
	}
	return nil
}

// with returns the number of orders after h is added; h may be nil.
func (o *orders) with(h *handout) int {
	if h == nil || o.find(h) != nil {
		return len(o.list)
	}
	return len(o.list) + 1
}

func (o *orders) add(h *handout) {
	if h == nil {
		return
	}
	to := o.find(h)
	if to == nil {
		to = &order{ID: h.id, Session: h.session, queue: h.queue}
		o.list = append(o.list, to)
	}
	if h.run != nil {
		to.Runs = append(to.Runs, h.run)
		to.JobRevs = append(to.JobRevs, h.jobRev)
	}
	if h.stop != "" {
		to.Stop = append(to.Stop, h.stop)
	}
}

// encode is marshal, except that it copies the runs, which are JSON already.
func (o *order) encode() ([]byte, error) {
	head, err := marshal(order{ID: o.ID, Session: o.Session, JobRevs: o.JobRevs, Stop: o.Stop})
	if err != nil || len(o.Runs) == 0 {
		return head, err
	}
	size := len(head) + len(`,"runs":[]`)
	for _, r := range o.Runs {
		size += len(r) + 1
	}
	b := append(make([]byte, 0, size), head[:len(head)-1]...)
	lead := `,"runs":[`
	for _, r := range o.Runs {
		b = append(append(b, lead...), r...)
		lead = ","
	}
	return append(b, "]}"...), nil
}

// ops returns the operations that create the orders. They never replace one: if the request is applied twice, the
// second order would have another revision, and so a wrong token.
func (o *orders) ops() ([]*pb.RequestOp, error) {
	ops := make([]*pb.RequestOp, 0, len(o.list))
	for _, order := range o.list {
		value, err := order.encode()
		if err != nil {
			return nil, err
		}
		key := order.queue + order.ID
		ops = append(ops, txnOp([]*pb.Compare{absent(key)}, []*pb.RequestOp{putOp(key, value, clientv3.NoLease)}))
	}
	return ops, nil
}
