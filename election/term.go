package election

import (
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Why a term, or the lease under it, ended. The context given to lead carries one of the first two as its cause
// (context.Cause); the rest are the reasons that an ErrTermLost wraps.
var (
	// ErrTermLost says that others lead by now, or may do so soon: nothing may be decided any more.
	ErrTermLost = errors.New("term lost")
	// ErrStopped says that Run's context ended: the term is still ours until lead has returned and the key is resigned.
	ErrStopped = errors.New("election stopped")

	// ErrLeaseLost is what Lease.Run returns, with a reason, when it can no longer vouch for the lease.
	ErrLeaseLost = errors.New("lease lost")
	// ErrDeadlinePassed is a lease whose last good renewal is too long ago.
	ErrDeadlinePassed = errors.New("deadline passed")
	// ErrLeaseGone is a lease that etcd does not know any more: it expired or was revoked.
	ErrLeaseGone = errors.New("gone at the server")
	// ErrNoQuorum is a lease that is renewed while etcd's majority answers nothing else.
	ErrNoQuorum = errors.New("renewed, but no read or write is answered")
	// ErrKeyDeleted is an election key that is not there, or is a later one of the same name.
	ErrKeyDeleted = errors.New("election key deleted")
	// ErrClockJumped is a machine whose clocks went different distances in the same time: it was suspended, or its wall
	// clock was set.
	ErrClockJumped = errors.New("clock jumped")
)

// Term is the proof of one leadership: the election key and its create revision, which is the fencing token. A later term
// has a greater Rev, whoever holds it. The zero Term is no term.
type Term struct {
	Key string
	Rev int64
	// Won is the revision of the write that proved the term, known to its holder alone: whatever earlier terms wrote is older.
	Won int64
}

// Held is the precondition that every write of a leader carries: true in etcd exactly as long as nobody ended the term.
// It proves that the writer leads, not that what it writes over is what it read; compare that as well.
func (t Term) Held() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.Key), "=", t.Rev)
}

// termLost gives the reason for a lost term the sentinel that callers test for.
func termLost(reason error) error {
	return fmt.Errorf("%w: %w", ErrTermLost, reason)
}
