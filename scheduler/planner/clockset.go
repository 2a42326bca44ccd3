package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// ClockSet adapts the times that the planner has measured after its clock was set by the given time, and shows now. Otherwise runs
// that have only begun would seem to be overdue. Times in records do not change.
func (p *Planner) ClockSet(by time.Duration, now time.Time) {
	now = now.UTC().Round(0)
	adapt := func(t *time.Time) {
		if t.IsZero() {
			return
		}
		*t = job.Earlier(t.Add(max(0, by)), now) // if the clock was set back, the time may come from a record, and be right
	}
	adapt(&p.firstLed)
	for _, j := range p.jobs {
		for _, r := range j.live.order {
			adapt(&r.since)
			adapt(&r.first)
			adapt(&r.started)
		}
	}
	for name, at := range p.turned {
		adapt(&at)
		p.turned[name] = at
	}
	for w, at := range p.doubtfulWorkers {
		p.doubtfulWorkers[w] = at.Add(by)
	}
}
