package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// askedRetention is the shortest time for which any other submitted run is kept, even if Retention is shorter. A client that
// got no answer may repeat its request. While the record exists, the repetition creates no other run. The cursor does this for
// the runs of slots.
const askedRetention = time.Minute

// protections are the times for which runs are protected from removal.
var protections = [...]time.Duration{job.KeyRetention, askedRetention}

// protection returns the shortest time for which r is kept after its end, even if Retention is shorter. It is one of
// protections, or zero for the run of a slot. The cursor, or the position of a backfill, passed the slot with its creation.
func protection(r *job.Run) time.Duration {
	switch {
	case r.Key != "":
		return job.KeyRetention
	case r.Kind != job.KindScheduled && r.Kind != job.KindBackfill:
		return askedRetention
	}
	return 0
}

// history holds the runs of one job that have ended and are still in the store. There may be the submissions of a day and a
// thousand failures. So each decision and each change may touch only few runs. A nil history is empty; add must not be called
// on it.
type history struct {
	good, bad ordered                    // runs that succeeded or were skipped and repeat no other one, and all others
	protected *[len(protections)]ordered // protected runs, which later move to good or bad; nil: there are none
	byID      map[string]*job.Run        // all runs; nil while they are few
}

// fewRuns is the largest number of runs for which get searches the lists and byID is nil.
const fewRuns = 64

// list returns the list that r belongs to once it is not protected. A run that repeats another one is kept with the failures, so
// that it outlives the other one: only its record says that the other one was repeated.
func (h *history) list(r *job.Run) *ordered {
	if r.RetryOf == "" && (r.State == job.Succeeded || r.State == job.Skipped) {
		return &h.good
	}
	return &h.bad
}

func (h *history) len() int {
	if h == nil {
		return 0
	}
	n := len(h.good.runs) + len(h.bad.runs)
	if h.protected != nil {
		for i := range h.protected {
			n += len(h.protected[i].runs)
		}
	}
	return n
}

// all yields each run.
func (h *history) all(yield func(*job.Run) bool) {
	if h == nil {
		return
	}
	lists := []ordered{h.good, h.bad}
	if h.protected != nil {
		lists = append(lists, h.protected[:]...)
	}
	for _, list := range lists {
		for _, r := range list.runs {
			if !yield(r) {
				return
			}
		}
	}
}

// since yields the runs that ended at a time or later, and are not protected.
func (h *history) since(at time.Time) func(yield func(*job.Run) bool) {
	return func(yield func(*job.Run) bool) {
		if h == nil {
			return
		}
		for _, list := range [...]*ordered{&h.good, &h.bad} {
			list.sort()
			for _, r := range slices.Backward(list.runs) {
				if r.Ended().Before(at) {
					break
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

// get returns the run of that id, nil if it is not there.
func (h *history) get(id string) *job.Run {
	if h != nil && h.byID != nil {
		return h.byID[id]
	}
	for r := range h.all {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// add adds a run whose id is not there.
func (h *history) add(r *job.Run) {
	if i := slices.Index(protections[:], protection(r)); i < 0 {
		h.list(r).add(r)
	} else {
		if h.protected == nil {
			h.protected = new([len(protections)]ordered)
		}
		h.protected[i].add(r)
	}
	switch n := h.len(); {
	case h.byID != nil:
		h.byID[r.ID] = r
	case n > fewRuns:
		h.byID = make(map[string]*job.Run, 2*n)
		for r := range h.all {
			h.byID[r.ID] = r
		}
	}
}

// remove removes r, which get has returned. nil is ignored.
func (h *history) remove(r *job.Run) {
	if r == nil {
		return
	}
	i := slices.Index(protections[:], protection(r))
	if i < 0 || h.protected == nil || !h.protected[i].remove(r) {
		h.list(r).remove(r)
	}
	if delete(h.byID, r.ID); h.len() == 0 {
		h.byID, h.protected = nil, nil
	}
}

// endProtection moves the runs whose protection has expired to the other lists.
func (h *history) endProtection(now time.Time) {
	if h.protected == nil {
		return
	}
	for i := range h.protected {
		o := &h.protected[i]
		for r := o.first(); r != nil && now.Sub(r.Ended()) >= protections[i]; r = o.first() {
			o.remove(r)
			h.list(r).add(r)
		}
	}
}

// excess returns an upper bound of the number of runs that exceed the numbers in keep.
func (h *history) excess(keep Retention) (n int) {
	if keep.Success > 0 {
		n += max(0, len(h.good.runs)-keep.Success)
	}
	if keep.Failed > 0 {
		n += max(0, len(h.bad.runs)-keep.Failed)
	}
	return n
}

// expiry returns when the next run reaches its maximal age or the end of its protection; false if none will.
func (h *history) expiry(keep Retention) (at time.Time, ok bool) {
	if h == nil {
		return at, false
	}
	soonest := func(o *ordered, kept time.Duration) {
		if r := o.first(); r != nil {
			if due := r.Ended().Add(kept + time.Millisecond); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
	}
	if keep.MaxAge > 0 {
		soonest(&h.good, keep.MaxAge)
		soonest(&h.bad, keep.MaxAge)
	}
	if h.protected != nil && keep != (Retention{}) {
		for i := range h.protected {
			soonest(&h.protected[i], protections[i])
		}
	}
	return at, ok
}

// beyond lists runs that exceed the bounds, in the order of their ends, at most as many as one decision removes. It never lists
// the last spare runs that started, because a breaker needs them.
func (h *history) beyond(keep Retention, spare int, now time.Time) []*job.Run {
	spared := h.lastStarted(spare)
	drops := append(h.good.beyond(keep.Success, keep.MaxAge, spared, now), h.bad.beyond(keep.Failed, keep.MaxAge, spared, now)...)
	slices.SortStableFunc(drops, byEnd)
	return drops[:min(len(drops), job.MaxDeletions)]
}

// lastStarted looks at the last n runs that started, and returns the end of the earliest of them; zero if there is none. It
// ignores protected runs.
func (h *history) lastStarted(n int) (from time.Time) {
	h.good.sort()
	h.bad.sort()
	for i, k := len(h.good.runs)-1, len(h.bad.runs)-1; n > 0 && (i >= 0 || k >= 0); {
		var r *job.Run
		if k < 0 || i >= 0 && byEnd(h.good.runs[i], h.bad.runs[k]) >= 0 {
			r, i = h.good.runs[i], i-1
		} else {
			r, k = h.bad.runs[k], k-1
		}
		if len(r.Attempts) > 0 {
			from, n = r.Ended(), n-1
		}
	}
	return from
}

// prune removes the runs of a job's history that are beyond its bounds.
func (p *Planner) prune(j *jobState, now time.Time) *job.Decision {
	h, keep := j.ended, p.cfg.Retention
	if h == nil {
		return nil
	}
	// While the job is active, a decision removes several runs. Once the job is idle, a decision may remove a single run.
	batch := job.MaxDeletions / 2
	if j.live.none() {
		batch = 1
	}
	h.endProtection(now)
	at, ok := h.expiry(keep)
	if aged := ok && !now.Before(at); !aged && h.excess(keep) < batch {
		p.wakeToPrune(j)
		return nil
	}
	drops := h.beyond(keep, j.breakerWindow(), now)
	held := slices.IndexFunc(drops, func(r *job.Run) bool { return p.isNeeded(j, r) })
	if held >= 0 { // history is removed in the order of the ends, so what ended later stays too
		drops = drops[:held]
	}
	switch {
	case held >= 0 && len(drops) < batch:
		p.wakeAt(j, now.Add(pruneAgain))
	case len(drops) == 0:
		p.wakeToPrune(j)
	}
	if len(drops) < batch {
		return nil
	}
	return &job.Decision{Deletions: drops}
}

// pruneAgain is how soon history is pruned again after a step still needed a run in it.
const pruneAgain = 10 * time.Second

// wakeToPrune sets the job's timer for the next removal from its history.
func (p *Planner) wakeToPrune(j *jobState) {
	if at, ok := j.ended.expiry(p.cfg.Retention); ok {
		p.wakeAt(j, at)
	}
}
