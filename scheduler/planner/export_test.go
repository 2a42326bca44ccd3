package planner

// Workers returns how many workers the planner knows.
func (p *Planner) Workers() int { return len(p.workers) }

// Visits returns how many runs of a job each decision about it visits, and how many are far in the future.
func (p *Planner) Visits(name string) (near, far int) {
	live := p.jobs[name].live
	return len(live.order), live.far.Len()
}
