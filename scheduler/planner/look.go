package planner

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// look returns what to do about j at now, the most urgent thing first, or nil after noting when to look again.
func (p *Planner) look(j *jobState, now time.Time) *job.Decision {
	if j.busy { // its waiters keep their places
		return nil
	}
	p.leaveQueues(j)
	if at := j.told().retryAt; now.Before(at) {
		p.wakeAt(j, at)
		return nil
	}
	steps := []func(*jobState, time.Time) *job.Decision{p.rescue, p.sweep, p.cancelOrphans, p.recall, p.decideSlot, p.assign, p.prune}
	if j.unreadable { // who can tell what its slots are, or whether it is still wanted?
		steps = []func(*jobState, time.Time) *job.Decision{p.rescue, p.sweep, p.assign, p.prune}
	}
	for _, decide := range steps {
		if d := decide(j, now); d != nil {
			return d
		}
	}
	return nil
}

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
	return later(r.since, r.Due).Add(p.cfg.ClaimTimeout)
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

func (p *Planner) afterLoss(j *jobState, r *job.Run, now time.Time) (job.Run, error) {
	outcome := job.Outcome{State: job.Lost, At: now, Reason: "worker " + r.Worker + " was lost"}
	if r.State == job.Armed {
		return r.Recall(outcome.Reason)
	}
	again, reason := false, "the job was deleted"
	if spec := j.spec(r); spec != nil || r.Cancel != nil {
		again, reason = policy.Lost(spec, r, outcome.Reason)
	}
	if !again {
		if r.Cancel != nil {
			outcome.State = job.Canceled
		}
		outcome.Reason += "; " + reason
		return r.Finish(outcome)
	}
	return r.Again(outcome, later(now, r.Due), reason) // it may have been claimed before its time
}

// cancelOrphans ends what a deleted job left behind and nobody has begun.
func (p *Planner) cancelOrphans(j *jobState, now time.Time) *job.Decision {
	if j.def != nil {
		return nil
	}
	for _, r := range j.live.order {
		if r.Spec != nil || r.State == job.Running {
			continue
		}
		if next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: "the job was deleted"}); err == nil {
			return &job.Decision{Run: &next}
		}
	}
	return nil
}

// assign gives a pending run whose time has come to a worker, or writes down why it has to wait. Unless runs of the job
// may overlap, one that was begun goes before all others, and the others wait for its end. The first of those whose time
// comes soon is armed ahead.
func (p *Planner) assign(j *jobState, now time.Time) *job.Decision {
	var explained *job.Decision
	waiting, lacking := 0, 0
	explain := func(r *job.Run, reason string) {
		if explained == nil && waiting <= maxExplained && r.Reason != reason {
			next := *r
			next.Reason = reason
			explained = &job.Decision{Run: &next}
		}
	}
	paused, begun := p.paused(j), j.live.haveBegun()
	full := make(map[string]string)   // why those wait that need a certain worker
	barred := make(map[string]string) // why those wait that name certain limits
	for _, r := range j.live.order {
		if r.State != job.Pending || r.Ahead { // decideSlot sees to those
			continue
		}
		if r.Due.After(now) {
			if d := p.armPending(j, r, now); d != nil {
				return d
			}
			break
		}
		if j.obscure(r.Run) {
			if waiting++; waits(r.Reason) {
				explain(r.Run, reasonUnreadable)
			}
			continue
		}
		spec := j.spec(r.Run)
		if spec == nil {
			continue
		}
		if r.ID == j.told().oversized {
			return giveUp(r.Run, now)
		}
		waiting++
		if paused || held(r, begun, spec) {
			why := reasonHeld
			if paused {
				why = reasonPaused
			}
			if waits(r.Reason) || paused && strings.HasPrefix(r.Reason, reasonBehind) {
				explain(r.Run, why)
			}
			continue
		}
		limits := strings.Join(spec.Limits, " ")
		why, known := barred[limits]
		if !known {
			why = p.bar(j, r.Run, spec, now, true)
		}
		if why != "" {
			barred[limits] = why
			if !known || r.Reason == "" || r.Reason == job.ReasonNotYet || r.Reason == job.ReasonNew { // of those behind it, what they were told is near enough
				explain(r.Run, why)
			}
			continue
		}
		key := demandKey(spec)
		if _, tried := full[key]; !tried {
			w, anybody := p.choose(j, spec, r.Run, now)
			if w != nil {
				if next := j.give(*r.Run, w, now); next != nil {
					return &job.Decision{Run: next, JobRev: j.rev(r.Run)}
				}
				continue
			}
			p.wait(j, key, spec, r.Due, now)
			full[key] = waitReason(spec, anybody)
		}
		lacking++
		explain(r.Run, full[key])
	}
	p.lack(j, lacking)
	return explained
}

// giveUp ends a run that can never be given to a worker, so that it does not keep others from being: the API admits none
// that is so large, but a hand may have put it there.
func giveUp(r *job.Run, now time.Time) *job.Decision {
	next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: "its record is too large for the store"})
	if err != nil {
		return nil
	}
	next.Payload, next.Spec = nil, nil
	return &job.Decision{Run: &next}
}

// maxExplained is how many waiting runs of a job are told why. Those behind them wait for those before them.
const maxExplained = 100

// Why a run that is due waits.
const (
	reasonNoRoom   = "no worker has room"
	reasonNoWorker = "no worker accepts it: none is present with its labels or handler"
	reasonNoLimits = "no worker accepts it: none is present with its labels that can limit its resources"
	reasonHeld     = "overlap: waits for an earlier run of the job"
	reasonBehind   = "overlap: waits for run " // and which
	reasonPaused   = "paused"

	reasonUnreadable = "the job's definition cannot be read"
)

// reasonUnknown is why a run is not ended though its worker was lost.
const reasonUnknown = "its worker was lost; whether it may be tried again says the job's definition, which cannot be read"

func waitReason(spec *job.Spec, anybody bool) string {
	switch {
	case anybody:
		return reasonNoRoom
	case spec.Resources != nil:
		return reasonNoLimits
	}
	return reasonNoWorker
}

// waits says whether reason tells no more than that a run waits, so that a new one may take its place.
func waits(reason string) bool {
	switch reason {
	case "", reasonNoRoom, reasonNoWorker, reasonNoLimits, reasonHeld, reasonPaused, reasonUnreadable, job.ReasonNotYet, job.ReasonNew:
		return true
	}
	for _, why := range []string{"limit ", "rate ", "breaker "} { // what bar says
		if strings.HasPrefix(reason, why) {
			return true
		}
	}
	return false
}

// held says whether r has to wait for another run of its job, given those that have begun.
func held(r *liveRun, begun []*liveRun, spec *job.Spec) bool {
	if spec.Overlap == job.OverlapAllow || r.Job == job.AdHoc {
		return false
	}
	for _, o := range begun {
		if o.ID != r.ID && (o.assigned() || !r.begun() || o.ID < r.ID) {
			return true
		}
	}
	return false
}

// rev is the definition's revision for a decision that arms r: with the definition changed or the job paused, the decision is refused.
func (j *jobState) rev(r *job.Run) int64 {
	if r.Spec != nil || j.def == nil {
		return 0
	}
	return j.def.Rev
}
