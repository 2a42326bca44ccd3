package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// awaitWorker is how long a run that only one worker may execute waits for that worker while it is absent.
const awaitWorker = 5 * time.Minute

// spreads reports whether r becomes one copy on each worker once it may start. A run that has begun on one worker stays there.
func spreads(spec *job.Spec, r *job.Run) bool {
	return spec.OnEveryWorker() && r.On == "" && r.Copies == nil && r.Attempt == 0 && len(r.Attempts) == 0
}

// spread decides on which workers r runs: on all that are present and accept it now. If r has to wait, its reason says why: no
// worker accepts it, or it is not known yet whether one of them is still there.
func (p *Planner) spread(j *jobState, spec *job.Spec, r job.Run, now time.Time) (spread job.Run, ok bool) {
	var names []string
	for _, w := range p.workers {
		switch {
		case w.present == nil || !w.present.Accepts(spec):
		case w.removed:
			p.wakeAt(j, p.doubtfulWorkers[w])
			r.Reason = reasonNoRoom
			return r, false
		default:
			names = append(names, w.name)
		}
	}
	if len(names) == 0 {
		r.Reason = p.noWorkerReason(spec, &r, false)
		return r, false
	}
	slices.Sort(names)
	return r.SpreadOver(names, now), true
}

// followCopies decides the runs on every worker. It creates one copy in each decision, because each gets a token of its own. It
// ends a run whose copies have all ended, and cancels the copies of a canceled run.
func (p *Planner) followCopies(j *jobState, now time.Time) *job.Decision {
	for _, r := range slices.Backward(j.live.order) {
		if r.Due.Before(job.WhenCopiesEnd) {
			break
		}
		if r.Copies == nil {
			continue
		}
		if d := p.followCopiesOf(j, r.Run, now); d != nil {
			return d
		}
	}
	if j.live.bound == 0 {
		return nil
	}
	for _, r := range j.live.order {
		if d := p.endBound(j, r, now); d != nil {
			return d
		}
	}
	return nil
}

// followCopiesOf creates the first copy of r that is missing, or ends r. A copy depends on the record of r at this revision: if
// anybody has ended r since, the store refuses the copy. Once all copies exist, the record of r says so. After that no copy is
// created again, not even if somebody removes one by hand.
func (p *Planner) followCopiesOf(j *jobState, r *job.Run, now time.Time) *job.Decision {
	var bad []string
	ended := true
	for _, worker := range r.Copies {
		id := r.CopyID(worker)
		c := j.run(id)
		switch {
		case p.steps.bad[j.name+"/"+id]: // it waits until the record is repaired or removed
			ended = false
		case c == nil && !r.Copied:
			d := p.reassign(j, r.Copy(worker, now), now)
			d.Guards = append(d.Guards, job.Guard{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev})
			return d
		case c != nil && !c.State.Terminal():
			ended = false
		case c == nil || c.State != job.Succeeded:
			bad = append(bad, worker)
		}
	}
	if !r.Copied {
		next := *r
		next.Copied = true
		return &job.Decision{Run: &next}
	}
	if !ended {
		return nil
	}
	next, err := r.Gather(bad, now)
	if err != nil {
		return nil
	}
	return &job.Decision{Run: &next}
}

// endBound ends a run that waits for one worker, if that worker has not accepted it for too long. It stops a copy whose run was
// canceled.
func (p *Planner) endBound(j *jobState, r *liveRun, now time.Time) *job.Decision {
	if r.On == "" || r.Cancel != nil {
		return nil
	}
	if of := j.ended.get(r.CopyOf()); of != nil && of.Cancel != nil {
		if next, err := r.Stop(*of.Cancel); err == nil {
			return &job.Decision{Run: &next, Stop: r.State == job.Running}
		}
	}
	if r.State != job.Pending || p.accepts(r.On, j.spec(r.Run)) {
		return nil
	}
	until := job.Later(job.Later(p.leadSince, p.turned[r.On]), r.since).Add(awaitWorker)
	if now.Before(until) {
		p.wakeAt(j, until)
		return nil
	}
	next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: reasonAbsent(r.On)})
	if r.Attempt == 0 {
		next, err = r.Skip(reasonAbsent(r.On), now)
	}
	if err != nil {
		return nil
	}
	return &job.Decision{Run: &next}
}

// accepts reports whether a worker of that name is present and accepts runs of spec. If spec is nil, it need only be present.
func (p *Planner) accepts(worker string, spec *job.Spec) bool {
	w := p.workers[worker]
	return w != nil && w.present != nil && (spec == nil || w.present.Accepts(spec))
}

// noteTurn records when a worker came, left, began a session or began to drain, or when a kind went away or returned there. Jobs
// whose runs wait for that worker alone are decided again. It forgets turns that are longer ago than any run waits for its worker.
func (p *Planner) noteTurn(w *workerState, was *job.Worker, now time.Time) {
	is := w.present
	if was == is || was != nil && is != nil && was.Session == is.Session && was.Draining == is.Draining &&
		maps.Equal(was.Away, is.Away) {
		return
	}
	for name, at := range p.turned {
		if now.Sub(at) > awaitWorker {
			delete(p.turned, name)
		}
	}
	p.turned[w.name] = now
	for _, d := range p.waiting {
		if d.on == w.name {
			for j := range d.members {
				p.markDirty(j)
			}
		}
	}
}
