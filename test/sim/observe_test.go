package sim

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
)

// Decided implements scheduler.Observer.
func (p *process) Decided(d job.Decision, a job.Applied, _, _ time.Time) {
	if a.Err != nil {
		p.world.tally.add("decisions refused")
		return
	}
	p.world.tally.add("decisions")
	if d.Event != nil {
		p.world.tally.add("ranges of slots skipped")
	}
	switch r := d.Run; {
	case r == nil:
	case r.State == job.Skipped:
		p.world.tally.add("slots skipped for overlap")
	case isAhead(r):
		p.world.tally.add(armedAhead)
	case r.State == job.Pending && r.Ahead: // its slot is decided again
		p.world.tally.add(takenBack)
	}
}

// watcher is the observer of the worker.
type watcher struct{ *process }

func (w watcher) Began(*job.Run, time.Duration) {}

func (w watcher) Conflicted(*job.Run) { w.world.tally.add("claims lost to another worker") }

func (w watcher) Recalled(r *job.Run, _ string) {
	w.world.tally.add("runs handed back")
	if isAhead(r) && r.Ahead {
		w.world.tally.add(handedBack)
	}
}

func (w watcher) Ended(*job.Run, *job.Outcome, time.Duration) {}

func (w watcher) Fenced(*job.Run, *job.Outcome) { w.world.tally.add("outcomes that came too late") }

func (w watcher) Load(int, int) {}

func (w watcher) Pressure(worker.Pressure, bool) {}

func (w watcher) SessionEnded() { w.world.tally.add("worker sessions lost") }
