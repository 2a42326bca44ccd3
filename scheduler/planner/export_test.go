package planner

// Workers returns how many workers the planner knows.
func (p *Planner) Workers() int { return len(p.workers) }

// Knows reports whether the planner has a state for a job.
func (p *Planner) Knows(name string) bool { return p.jobs[name] != nil }

// Visits returns how many runs of a job each decision about it visits, and how many are far in the future.
func (p *Planner) Visits(name string) (near, far int) {
	live := p.jobs[name].live
	return len(live.order), live.far.Len()
}
