package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// rescue decides about a run whose worker is lost. An attempt that was never begun changes hands; one that was begun is
// over, and the job's delivery says whether there is another.
func (p *Planner) rescue(j *jobState, now time.Time) *job.Decision {
	for _, r := range j.live.haveBegun() {
		if !r.assigned() || !p.forsaken(j, r, now) {
			continue
		}
		if d := p.takeBack(j, r, now); d != nil {
			return d
		}
	}
	return nil
}

// forsaken says whether a run is to be taken from the worker that has it, or notes when to look again. Nearly all that is looked
// at is in good hands, so it makes no copy of the run.
func (p *Planner) forsaken(j *jobState, r *liveRun, now time.Time) bool {
	if at, garbled := p.garbled[p.workers[r.Worker]]; garbled {
		p.wakeAt(j, at)
	}
	switch {
	case p.lost(r.Run, now):
		return true
	case !p.present(r.Run):
		p.wakeAt(j, p.leadSince.Add(p.cfg.ReturnGrace))
	case r.State != job.Armed:
	case p.leaves(r, now):
		return true
	default:
		forgotten := p.forgotten(r)
		if !now.Before(forgotten) {
			return true
		}
		p.wakeAt(j, forgotten)
	}
	return false
}

// takeBack takes a forsaken run from the worker that has it; nil if there is nothing to write.
func (p *Planner) takeBack(j *jobState, r *liveRun, now time.Time) *job.Decision {
	var next job.Run
	var err error
	switch lost := p.lost(r.Run, now); {
	case lost && j.undecidable(r):
		if r.Reason == reasonUnknown {
			return nil
		}
		next = *r.Run
		next.Reason = reasonUnknown
		return &job.Decision{Run: &next}
	case lost:
		next, err = p.afterLoss(j, r.Run, now)
	case p.leaves(r, now):
		next, err = r.Recall("worker " + r.Worker + " takes nothing new")
	default:
		next, err = r.Recall(didNotBegin(r.Worker))
	}
	if err != nil {
		return nil
	}
	gaveUp := r.State == job.Running
	if gaveUp {
		next = next.GiveUp()
	}
	d := p.handOver(j, next, now)
	d.GaveUp = gaveUp
	return d
}

// leaves says whether a run that was armed ahead is with a worker, which is present, that takes nothing new: it hands it back
// itself, if it can.
func (p *Planner) leaves(r *liveRun, now time.Time) bool {
	return r.early(now) && p.workers[r.Worker].present.Draining
}

// forgotten is when an armed run is taken from its worker, though that is present.
func (p *Planner) forgotten(r *liveRun) time.Time {
	return job.Later(r.since, r.Due).Add(p.cfg.ClaimTimeout)
}

// undecidable says whether nobody knows if r, whose attempt is over, may be tried again: its job's delivery was never read.
func (j *jobState) undecidable(r *liveRun) bool {
	return j.unreadable && j.spec(r.Run) == nil && r.State == job.Running && r.Cancel == nil
}

// didNotBegin is why a run waits that was taken back from a worker which is present: as long as it says so, that worker is
// shunned.
func didNotBegin(worker string) string { return "worker " + worker + " did not begin it" }

// handOver writes r, and gives it to a worker in the same decision if it is pending, one has room, and no other run of the job
// is in its way: there may be some if the job allowed them until now. One that was armed ahead, and whose slot passed while
// nobody led, is decided anew.
func (p *Planner) handOver(j *jobState, r job.Run, now time.Time) *job.Decision {
	missed := r.Due.Before(p.leadSince)
	r.Ahead = r.Ahead && (missed || r.Due.After(now))
	spec := j.spec(&r)
	stays := r.Ahead && missed || r.State != job.Pending || spec == nil || held(&liveRun{Run: &r}, j.live.haveBegun(), spec)
	if !stays && !j.obscure(&r) && !p.paused(j) && r.ID != j.told().oversized && p.bar(j, &r, spec, now, false) == "" {
		if w, _ := p.choose(j, spec, &r, now); w != nil {
			if armed := j.give(r, w, now); armed != nil {
				return &job.Decision{Run: armed, JobRev: j.rev(&r)}
			}
		}
	}
	return &job.Decision{Run: &r}
}

// afterLoss ends the attempt of r, whose worker is lost. An armed run becomes pending again.
func (p *Planner) afterLoss(j *jobState, r *job.Run, now time.Time) (job.Run, error) {
	reason := "worker " + r.Worker + " was lost"
	if r.State == job.Armed {
		return r.Recall(reason)
	}
	return endAttempt(j.spec(r), r, job.Outcome{State: job.Lost, At: now, Reason: reason}, now)
}

// endAttempt gives up the attempt of r with outcome o. The run is retried if policy.DecideRetry says so. spec is nil if the job was
// deleted.
func endAttempt(spec *job.Spec, r *job.Run, o job.Outcome, now time.Time) (job.Run, error) {
	const middle = 0.5 // of the jitter: few attempts are given up at one time
	o, retry := policy.DecideRetry(policy.EndedAttempt{Spec: spec, Run: r, Outcome: o, Now: now, Random: middle, GivenUp: true})
	if retry != nil {
		return r.Again(o, retry.Due, retry.Reason)
	}
	return r.Finish(o)
}
