package config

// checkBounds reports bounds that no cluster can have.
func (s *Settings) checkBounds(fail func(key, hint, format string, args ...any)) {
	if s.Bounds.Waiting < 1 {
		fail("bounds.waiting", "write 1 or more", "%d is less than 1", s.Bounds.Waiting)
	}
	if s.Bounds.Jobs < 1 {
		fail("bounds.jobs", "write 1 or more", "%d is less than 1", s.Bounds.Jobs)
	}
	if s.Bounds.Space < 1 || s.Bounds.Space > 100 {
		fail("bounds.space", "write a percentage, such as 80", "%d is not between 1 and 100", s.Bounds.Space)
	}
}
