package mem

import "time"

// schedule sets the expiry timer for a lease that ends at t. The timer fires at
// the first check at or after t. An earlier timer stays. The caller holds mu.
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
	// A timer is enough: no goroutine has to wait. If it fires after Close,
	// expire does nothing.
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
