package mem

import (
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Cut disconnects a client. Its watches get no events. Its calls hang until
// their contexts end or until Heal, which lets the waiting calls continue.
func (s *Server) Cut(c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.link(c); l != nil && l.hole == nil {
		l.hole = make(chan struct{})
	}
}

// link finds a client's link; nil if it is closed or another server's. The
// caller holds mu.
func (s *Server) link(c *clientv3.Client) *link {
	for _, l := range s.links {
		if l.client == c {
			return l
		}
	}
	return nil
}

// Heal undoes Cut. The client's watches continue as after a broken connection.
// They resume at the revision from which the client would watch again, and
// deliver all later changes. They end if that revision is compacted.
func (s *Server) Heal(c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.link(c); l != nil && l.hole != nil {
		close(l.hole)
		l.hole = nil
		l.reconnect()
	}
}

// StallWatches stops the delivery to a client's watches, old and new, while
// its calls continue.
func (s *Server) StallWatches(c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.link(c); l != nil {
		l.stalled = true
	}
}

// ResumeWatches undoes StallWatches; the watches continue as after Heal.
func (s *Server) ResumeWatches(c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.link(c); l != nil && l.stalled {
		l.stalled = false
		l.reconnect()
	}
}

// reconnect resumes the link's watches at the revision from which the client
// would watch again. The caller holds srv.mu.
func (l *link) reconnect() {
	if l.stalled || l.hole != nil {
		return
	}
	for _, w := range l.watches {
		w.next = w.resume
		w.catchUp()
	}
}

// CompactWatches ends all of a client's watches as if they had fallen behind
// a compaction at the present revision. The data stays.
func (s *Server) CompactWatches(c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.link(c); l != nil {
		for _, w := range l.watches {
			w.compacted(s.data.rev)
		}
	}
}

// ExpireLease revokes a lease before its time, as a faulty etcd leader does. It
// returns rpctypes.ErrLeaseNotFound if there is no such lease.
func (s *Server) ExpireLease(id clientv3.LeaseID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.data.leases.byID[int64(id)]
	if l == nil {
		return rpctypes.ErrLeaseNotFound
	}
	s.drop(l)
	return nil
}

// ExtendLeases extends every lease. It then lasts for its whole time to live
// plus extra, counted from now. A new etcd leader does the same.
func (s *Server) ExtendLeases(extra time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, l := range s.data.leases.byID {
		l.refresh(now, extra)
	}
}

// SetNoSpace raises or ends etcd's NOSPACE alarm. While it is on, puts,
// transactions with a put in any branch and new leases are refused with
// ErrNoSpace. A client can end it too, with AlarmDisarm.
func (s *Server) SetNoSpace(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noSpace = on
}
