package store

import (
	"errors"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// errWentBack is returned for a list or a watch of a store that was restored while this process used it. Its records are from an
// earlier time, and nothing may be done with them. Admission ends this process soon.
var errWentBack = errors.New("the store was restored: its revision is below the one that it had")

// reached is the highest revision in the answers of one etcd cluster: the first one that answered, or the one given to reset.
type reached struct {
	mu      sync.Mutex
	cluster uint64 // guarded by mu; 0: none has answered
	rev     int64  // guarded by mu
	back    int64  // guarded by mu: the revision at which the cluster was found to be restored; 0: it was not
	resets  int    // guarded by mu: number of calls of reset
}

// mark is what was reached when a request was sent.
type mark struct {
	rev    int64
	resets int
}

// raise adds the revision of an answer from a cluster.
func (r *reached) raise(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raiseLocked(cluster, rev)
}

func (r *reached) raiseLocked(cluster uint64, rev int64) {
	if r.cluster == 0 {
		r.cluster = cluster
	}
	if cluster == r.cluster {
		r.rev = max(r.rev, rev)
	}
}

// mark returns the present mark, for a request of which etcd's majority answers.
func (r *reached) mark() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark{r.rev, r.resets}
}

// answered adds the revision of an answer of etcd's majority. It reports whether the answer is of the store that this process uses.
// sent is the mark before the request. The majority never answers with a lower revision, unless its store was restored. This is
// remembered, because the revision soon rises again.
func (r *reached) answered(h *pb.ResponseHeader, sent mark) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raiseLocked(h.ClusterId, h.Revision)
	if h.ClusterId == r.cluster && h.Revision < sent.rev && sent.resets == r.resets && r.back == 0 {
		r.back = h.Revision
	}
	return h.ClusterId == r.cluster && r.back == 0
}

// fell records that a key was written at rev, and had been written at a higher revision. This happens only to a restored store.
func (r *reached) fell(rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back == 0 {
		r.back = rev
	}
}

// wentBack returns the revision at which the cluster was found to be restored; 0 if it was not.
func (r *reached) wentBack() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back
}

func (r *reached) reset(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster, r.rev, r.back = cluster, rev, 0
	r.resets++
}

func (r *reached) get() int64 { return r.mark().rev }
