package planner_test

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// finishBy gives spec a deadline after its jitter, or after the longest jitter of the jobs before it.
func (q *quiet) finishBy(spec job.Spec) job.Spec {
	after := spec.Jitter.Std()
	if spec.Step() {
		after = 40 * time.Second
	}
	if q.chance(0.2) {
		spec.FinishBy = (after + time.Second + q.upTo(40*time.Second)).Truncate(time.Second).String()
	}
	return spec
}

// deadline judges whether the slot of a run was reported as late: once, two seconds after its finish_by, if it had not ended then. If
// nobody led, the next leader reports it, or skips it as missed.
func (g *judge) deadline(l *life) {
	within, err := time.ParseDuration(g.store.job(l.Job).Spec.FinishBy)
	reports := g.late[l.Name()]
	if err != nil || l.Kind != job.KindScheduled {
		if len(reports) > 0 {
			g.fail("run %s has no deadline, but was reported as late", l.Name())
		}
		return
	}
	at := l.Slot.Add(within + 2*time.Second)
	known := l.created.Before(at) // otherwise it waits for an earlier run or for its parents, which pauses delay
	led, late := uncovered(at, l.end(), g.down)
	switch {
	case len(reports) > 1:
		g.fail("run %s was reported as late %d times", l.Name(), len(reports))
	case len(reports) > 0 && (reports[0].Before(at) || reports[0].After(l.end())):
		g.fail("run %s was reported as late at %v, but ended at %v, and had time until %v", l.Name(), reports[0], l.end(), at)
	case len(reports) == 0 && late && known:
		g.fail("run %s had not ended at %v, but was not reported as late", l.Name(), led)
	case len(reports) > 0 && late && known && !reports[0].Equal(led):
		g.fail("run %s was reported as late at %v, not at %v", l.Name(), reports[0], led)
	}
}
