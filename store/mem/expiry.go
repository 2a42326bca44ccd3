package mem

import "time"

// schedule makes sure that leases are looked at on the first grid point at
// which one that ends at t has ended. The caller holds mu.
func (s *Server) schedule(t time.Time) {
	grid := s.cfg.ExpiryInterval
	at := s.began.Add((t.Sub(s.began) + grid - 1) / grid * grid) //nolint:durationcheck // rounds up to the grid
	if s.expiry != nil && !at.Before(s.wakes) {
		return
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.wakes = at
	// A timer and no goroutine: it has nothing to wait for in between, and
	// what fires after Close finds the server closed.
	s.expiry = time.AfterFunc(time.Until(at), s.expire)
}

// expire revokes the leases that have run out.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.closed || now.Before(s.wakes) {
		return // closed, or replaced by an earlier or later timer
	}
	s.expiry = nil
	for _, l := range s.data.leases.byExpiry() {
		if !l.expired(now) {
			s.schedule(l.expiry)
			return
		}
		s.drop(l)
	}
}
