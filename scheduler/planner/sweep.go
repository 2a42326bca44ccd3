package planner

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// How often a worker is told again to stop a run whose end somebody asked for: first after StopEvery, then less and less
// often, but every StopAtLeast.
const (
	StopEvery   = 30 * time.Second
	StopAtLeast = 5 * time.Minute
)

// reasonOverdue is why a run that goes on was asked to end.
const reasonOverdue = "it goes on after its timeout: its worker was asked to end it"

// sweep decides about a run that should have ended, and that its worker still has, though it is present: it is asked to end
// the attempt, and then the attempt is given up. Nothing that it still does to the store has any effect.
func (p *Planner) sweep(j *jobState, now time.Time) *job.Decision {
	for _, r := range j.live.haveBegun() {
		if r.State != job.Running || !p.present(r.Run) {
			continue
		}
		if d := p.sweepRun(j, r, now); d != nil {
			return d
		}
	}
	return nil
}

func (p *Planner) sweepRun(j *jobState, r *liveRun, now time.Time) *job.Decision {
	switch overdue := r.overdue().Add(p.cfg.StopMargin); {
	case r.Reason == reasonOverdue: // the leader that asked may have been another one, but since is ours
		if at := r.since.Add(p.cfg.StopPatience); now.Before(at) {
			p.wakeAt(j, at)
			return nil
		}
		if j.undecidable(r) {
			return nil
		}
		o := job.Outcome{State: job.TimedOut, At: now, Reason: fmt.Sprintf("worker %s did not end it after its timeout", r.Worker)}
		if next, err := endAttempt(j.spec(r.Run), r.Run, o, now); err == nil {
			next = next.GiveUp()
			return &job.Decision{Run: &next, GaveUp: true}
		}
		return nil
	case !now.Before(overdue):
		next := *r.Run
		next.Reason = reasonOverdue
		return &job.Decision{Run: &next, Stop: true}
	default:
		p.wakeAt(j, overdue)
	}
	if r.Cancel == nil {
		return nil
	}
	pause := min(max(r.since.Sub(r.Cancel.At), StopEvery), StopAtLeast)
	if at := r.since.Add(pause); now.Before(at) {
		p.wakeAt(j, at)
		return nil
	}
	next := *r.Run
	return &job.Decision{Run: &next, Stop: true}
}

// overdue is when r, which runs, should have ended. Which timeout its worker goes by is known from the claim: the
// definition may be another one by now.
func (r *liveRun) overdue() time.Time {
	bound := r.Bound.Std()
	if bound <= 0 { // a record of an earlier build
		bound = (job.DefaultTimeout + job.DefaultKillGrace).Std()
	}
	return r.began.Add(bound)
}
