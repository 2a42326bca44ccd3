package mem

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/pkg/v3/adt"
	"google.golang.org/protobuf/proto"
)

// The checks that etcd makes on a request before it looks at any data, in
// etcd's order.

func checkRange(r *pb.RangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	_, order := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]
	_, target := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]
	if !order || !target {
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

func checkPut(r *pb.PutRequest) error {
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.IgnoreValue && len(r.Value) != 0:
		return rpctypes.ErrGRPCValueProvided
	case r.IgnoreLease && r.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func checkDelete(r *pb.DeleteRangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	return nil
}

// checkTxn checks the form of a transaction and its number of operations. A
// nested transaction may have maxOps operations minus those of the longest list
// of its parent.
func checkTxn(r *pb.TxnRequest, maxOps int) error {
	ops := max(len(r.Compare), len(r.Success), len(r.Failure))
	if ops > maxOps {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if err := checkOp(op, maxOps-ops); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOp(op *pb.RequestOp, maxOps int) error {
	switch o := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return checkRange(o.RequestRange)
	case *pb.RequestOp_RequestPut:
		return checkPut(o.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		return checkDelete(o.RequestDeleteRange)
	case *pb.RequestOp_RequestTxn:
		return checkTxn(o.RequestTxn, maxOps)
	}
	return rpctypes.ErrGRPCKeyNotFound
}

// checkOverlap refuses a branch that could write a key twice. It returns the
// keys that the branch puts and the intervals that it deletes. It uses etcd's
// own algorithm and interval trees, so it misses the same two cases. One is a
// deletion that follows a put in an earlier nested transaction. The other is a
// deletion without an upper bound.
func checkOverlap(branch []*pb.RequestOp) (puts map[string]bool, dels adt.IntervalTree, err error) {
	dels = adt.NewIntervalTree()
	for _, op := range branch {
		if d := op.GetRequestDeleteRange(); d != nil {
			interval := adt.NewStringAffinePoint(string(d.Key))
			if len(d.RangeEnd) != 0 {
				interval = adt.NewStringAffineInterval(string(d.Key), string(d.RangeEnd))
			}
			dels.Insert(interval, struct{}{})
		}
	}

	puts = make(map[string]bool)
	for _, op := range branch {
		t := op.GetRequestTxn()
		if t == nil {
			continue
		}
		putsThen, delsThen, err := checkOverlap(t.Success)
		if err != nil {
			return nil, nil, err
		}
		putsElse, delsElse, err := checkOverlap(t.Failure)
		if err != nil {
			return nil, nil, err
		}
		for k := range putsThen {
			if puts[k] || dels.Intersects(adt.NewStringAffinePoint(k)) {
				return nil, nil, rpctypes.ErrGRPCDuplicateKey
			}
			puts[k] = true
		}
		for k := range putsElse {
			// etcd executes only one of the two branches.
			if puts[k] && !putsThen[k] || dels.Intersects(adt.NewStringAffinePoint(k)) {
				return nil, nil, rpctypes.ErrGRPCDuplicateKey
			}
			puts[k] = true
		}
		everything := adt.NewStringAffineInterval("\x00", "")
		dels.Union(delsThen, everything)
		dels.Union(delsElse, everything)
	}

	for _, op := range branch {
		if p := op.GetRequestPut(); p != nil {
			k := string(p.Key)
			if puts[k] || dels.Intersects(adt.NewStringAffinePoint(k)) {
				return nil, nil, rpctypes.ErrGRPCDuplicateKey
			}
			puts[k] = true
		}
	}
	return puts, dels, nil
}

// checkSize refuses a request whose entry in etcd's log would be too large.
func checkSize(r *pb.InternalRaftRequest, limit int) error {
	// etcd gives each request a number with the member's id in the upper bits.
	// The number usually takes nine bytes.
	r.Header = &pb.RequestHeader{ID: 1 << 62}
	if proto.Size(r) > limit {
		return rpctypes.ErrGRPCRequestTooLarge
	}
	return nil
}

// readOnly reports whether a transaction has only range requests. A transaction
// with a nested transaction counts as a write.
func readOnly(r *pb.TxnRequest) bool {
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if op.GetRequestRange() == nil {
				return false
			}
		}
	}
	return true
}

// hasPut reports whether any branch of a transaction has a put. A server out of
// space refuses such a transaction.
func hasPut(r *pb.TxnRequest) bool {
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if op.GetRequestPut() != nil {
				return true
			}
			if t := op.GetRequestTxn(); t != nil && hasPut(t) {
				return true
			}
		}
	}
	return false
}
