package mem

import (
	"bytes"
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// path is the result of the comparisons of a transaction: the chosen branch,
// and the paths of the nested transactions in it, in order. All comparisons,
// nested ones included, are made before the first write.
type path struct {
	succeeded bool
	ops       []*pb.RequestOp
	nested    []*path
}

func (d *data) decide(r *pb.TxnRequest) *path {
	p := &path{succeeded: true, ops: r.Success}
	for _, c := range r.Compare {
		if !d.holds(c) {
			p.succeeded, p.ops = false, r.Failure
			break
		}
	}
	for _, op := range p.ops {
		if t := op.GetRequestTxn(); t != nil {
			p.nested = append(p.nested, d.decide(t))
		}
	}
	return p
}

// holds reports whether a comparison is true of every key of its span. If no
// key of the span exists, it compares a key with all revisions 0 and without a
// value.
func (d *data) holds(c *pb.Compare) bool {
	any := false
	for rec := range d.keys.within(spanOf(c.Key, c.RangeEnd)) {
		v, ok := rec.at(d.rev)
		if !ok {
			continue
		}
		if !v.holds(c) {
			return false
		}
		any = true
	}
	if any {
		return true
	}
	return c.Target != pb.Compare_VALUE && version{}.holds(c)
}

func (v version) holds(c *pb.Compare) bool {
	var result int
	switch c.Target {
	case pb.Compare_VALUE:
		result = bytes.Compare(v.value, c.GetValue())
	case pb.Compare_CREATE:
		result = cmp.Compare(v.create, c.GetCreateRevision())
	case pb.Compare_MOD:
		result = cmp.Compare(v.rev, c.GetModRevision())
	case pb.Compare_VERSION:
		result = cmp.Compare(v.count, c.GetVersion())
	case pb.Compare_LEASE:
		result = cmp.Compare(v.lease, c.GetLease())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return result == 0
	case pb.Compare_NOT_EQUAL:
		return result != 0
	case pb.Compare_GREATER:
		return result > 0
	case pb.Compare_LESS:
		return result < 0
	}
	return true
}

// admit makes all checks that a path can fail, so that no operation fails after
// the first write.
func (d *data) admit(p *path) error {
	nested := p.nested
	for _, op := range p.ops {
		var err error
		switch o := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			switch rev := o.RequestRange.Revision; {
			case rev > d.rev:
				err = rpctypes.ErrGRPCFutureRev
			case rev != 0 && rev < d.compacted:
				err = rpctypes.ErrGRPCCompacted
			}
		case *pb.RequestOp_RequestPut:
			err = d.admitPut(o.RequestPut)
		case *pb.RequestOp_RequestTxn:
			err = d.admit(nested[0])
			nested = nested[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *data) admitPut(r *pb.PutRequest) error {
	if r.Lease != 0 && d.leases.byID[r.Lease] == nil {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	if (r.IgnoreValue || r.IgnoreLease) && d.at(string(r.Key), d.rev) == nil {
		return rpctypes.ErrGRPCKeyNotFound
	}
	return nil
}

// run executes a path that admit has accepted.
func (w *write) run(p *path) (*pb.TxnResponse, error) {
	resp := &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: p.succeeded}
	nested := p.nested
	for _, op := range p.ops {
		r := &pb.ResponseOp{}
		switch o := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			rr, err := w.readRange(o.RequestRange, w.now())
			if err != nil {
				return nil, err
			}
			r.Response = &pb.ResponseOp_ResponseRange{ResponseRange: rr}
		case *pb.RequestOp_RequestPut:
			r.Response = &pb.ResponseOp_ResponsePut{ResponsePut: w.runPut(o.RequestPut)}
		case *pb.RequestOp_RequestDeleteRange:
			r.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: w.runDelete(o.RequestDeleteRange)}
		case *pb.RequestOp_RequestTxn:
			tr, err := w.run(nested[0])
			if err != nil {
				return nil, err
			}
			nested = nested[1:]
			r.Response = &pb.ResponseOp_ResponseTxn{ResponseTxn: tr}
		}
		resp.Responses = append(resp.Responses, r)
	}
	return resp, nil
}

func (w *write) runPut(r *pb.PutRequest) *pb.PutResponse {
	value, leaseID := r.Value, r.Lease
	var prev *mvccpb.KeyValue
	if r.IgnoreValue || r.IgnoreLease || r.PrevKv {
		prev = w.at(string(r.Key), w.now())
	}
	if r.IgnoreValue {
		value = prev.GetValue()
	}
	if r.IgnoreLease {
		leaseID = prev.GetLease()
	}
	w.put(string(r.Key), value, leaseID)
	resp := &pb.PutResponse{Header: &pb.ResponseHeader{Revision: w.now()}}
	if r.PrevKv {
		resp.PrevKv = prev
	}
	return resp
}

func (w *write) runDelete(r *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	s := spanOf(r.Key, r.RangeEnd)
	resp := &pb.DeleteRangeResponse{}
	if r.PrevKv {
		for rec := range w.keys.within(s) {
			if v, ok := rec.at(w.now()); ok {
				resp.PrevKvs = append(resp.PrevKvs, v.kv(rec.key))
			}
		}
	}
	resp.Deleted = w.delete(s)
	resp.Header = &pb.ResponseHeader{Revision: w.now()}
	return resp
}
