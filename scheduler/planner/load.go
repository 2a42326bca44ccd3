package planner

// Load is what all workers together have and lack: what an autoscaler needs to know.
type Load struct {
	Capacity int // runs that the workers that take new ones execute at a time
	Held     int // runs that are with workers and whose time has come
	Waiting  int // runs whose time has come and for which no worker has room
}

// Load returns the load as it was last looked at. What waits for something else than room, such as an earlier run of its job,
// is no load.
func (p *Planner) Load() Load {
	l := Load{Waiting: p.lacking}
	for _, w := range p.workers {
		if w.present != nil && !w.present.Draining {
			l.Capacity += w.present.Capacity
		}
		for session, held := range w.held {
			l.Held += held - w.early[session]
		}
	}
	return l
}

// lack notes for how many runs of j no worker has room.
func (p *Planner) lack(j *jobState, n int) {
	before := j.told().lacking
	if n == before {
		return
	}
	p.lacking += n - before
	j.note().lacking = n
}
