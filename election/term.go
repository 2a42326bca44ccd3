package election

import (
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Reasons why a term, or its lease, ended. The context given to lead has one of the first two as its cause (context.Cause). An
// ErrTermLost wraps one of the others.
var (
	// ErrTermLost says that another replica leads, or may lead soon. The old leader must decide nothing more.
	ErrTermLost = errors.New("term lost")
	// ErrStopped says that Run's context ended. The term is still ours until lead has returned and the key is resigned.
	ErrStopped = errors.New("election stopped")

	// ErrLeaseLost is returned by Lease.Run, with a reason, when the lease may have expired.
	ErrLeaseLost = errors.New("lease lost")
	// ErrDeadlinePassed says that the last successful renewal of the lease is too long ago.
	ErrDeadlinePassed = errors.New("deadline passed")
	// ErrLeaseGone says that etcd does not know the lease any more: it expired or was revoked.
	ErrLeaseGone = errors.New("gone at the server")
	// ErrNoQuorum says that etcd renews the lease but answers no read or write.
	ErrNoQuorum = errors.New("renewed, but no read or write is answered")
	// ErrKeyDeleted says that the election key is missing, or is a later key of the same name.
	ErrKeyDeleted = errors.New("election key deleted")
	// ErrClockJumped says that the clocks of the machine disagree about the time that passed. The machine was suspended, or its
	// wall clock was set.
	ErrClockJumped = errors.New("clock jumped")
)

// Term is the proof that a replica leads: the election key and its create revision, which is the fencing token. A later term
// always has a greater Rev. The zero Term is no term.
type Term struct {
	Key string
	Rev int64
	// Won is the revision of the write that proved the term. Everything that earlier terms wrote is older. Only the leader itself
	// knows it; elsewhere it is zero.
	Won int64
}

// Held returns the precondition of every write of a leader. It is true in etcd exactly while the term lasts. It proves that the
// writer leads. It does not prove that the overwritten value is the one that the writer read; compare that as well.
func (t Term) Held() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.Key), "=", t.Rev)
}

// termLost wraps the reason for a lost term in ErrTermLost, for which callers test.
func termLost(reason error) error {
	return fmt.Errorf("%w: %w", ErrTermLost, reason)
}
