package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A worker is asked again to stop a canceled run after a pause, which grows from stopPause to longestStopPause.
const (
	stopPause        = 30 * time.Second
	longestStopPause = 5 * time.Minute
)

// stopOverdue decides about a run that should have ended, but still is at a present worker. First the worker is asked to stop
// the attempt. Later the attempt is given up, and its later writes to the store have no effect.
func (p *Planner) stopOverdue(j *jobState, now time.Time) *job.Decision {
	for r := range j.live.haveBegun {
		if r.State != job.Running || !p.present(r.Run) {
			continue
		}
		if d := p.stopOverdueRun(j, r, now); d != nil {
			return d
		}
	}
	return nil
}

func (p *Planner) stopOverdueRun(j *jobState, r *liveRun, now time.Time) *job.Decision {
	// A clock that is wrong at the start of the process, such as after a boot, is usually set within the margin.
	switch overdue := job.Later(r.deadline(), p.firstLed).Add(p.cfg.StopMargin); {
	case r.Reason == reasonOverdue: // an earlier leader may have asked the worker, but r.since is by this leader's clock
		if at := r.since.Add(p.cfg.StopPatience); now.Before(at) {
			p.wakeAt(j, at)
			return nil
		}
		if j.retryUnknown(r) {
			return nil
		}
		o := job.Outcome{State: job.TimedOut, At: now, Reason: reasonNotStopped(r.Worker)}
		if next, err := endAttempt(j.spec(r.Run), r.Run, o); err == nil {
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
	pause := min(max(r.since.Sub(r.Cancel.At), stopPause), longestStopPause)
	if at := r.since.Add(pause); now.Before(at) {
		p.wakeAt(j, at)
		return nil
	}
	next := *r.Run
	return &job.Decision{Run: &next, Stop: true}
}

// deadline returns when r, which runs, should have ended. The claim says which timeout its worker uses; the definition may
// have changed since.
func (r *liveRun) deadline() time.Time {
	bound := r.Bound.Std()
	if bound <= 0 { // a record of an earlier build
		bound = (job.DefaultTimeout + job.DefaultKillGrace).Std()
	}
	return r.started.Add(bound)
}
