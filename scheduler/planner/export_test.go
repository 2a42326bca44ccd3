package planner

// Workers returns how many workers the planner knows.
func (p *Planner) Workers() int { return len(p.workers) }
