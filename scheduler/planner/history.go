package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// KeyRetention is how long a run that was submitted with an idempotency key is kept at least, whatever the retention: as
// long as its record is there, the same key makes no other run.
const KeyRetention = 24 * time.Hour

// AskedRetention is how long any other run that somebody asked for is kept at least. Who made it may not have been answered and
// send it again for as long as somebody waits for that: as long as its record is there, it is not made twice. The runs of slots
// are guarded by their cursors.
const AskedRetention = time.Minute

// heldFor is how long a run that has ended is kept whatever the retention: one of holds, zero for that of a slot.
func heldFor(r *job.Run) time.Duration {
	switch {
	case r.Key != "":
		return KeyRetention
	case r.Kind != job.KindScheduled:
		return AskedRetention
	}
	return 0
}

// holds are the times for which runs are held.
var holds = [...]time.Duration{KeyRetention, AskedRetention}

// history is the runs of one job that have ended and are still in the store. What is asked on every look at the job, and
// on every change of a run, looks at few of them: there may be a day's submissions, and a thousand failures behind a success.
// Of a nil history, which holds nothing, len, all, get, remove and expiry may be asked.
type history struct {
	good, bad ordered              // those that succeeded or were skipped, and all others
	held      *[len(holds)]ordered // those that wait until they need not be kept, and then are one of these; nil: none is
	byID      map[string]*job.Run  // all of them; nil while they are few
}

// fewRuns is how many runs are found by looking at each of them.
const fewRuns = 64

func good(r *job.Run) bool { return r.State == job.Succeeded || r.State == job.Skipped }

// kind is the list that r belongs to once it is not held.
func (h *history) kind(r *job.Run) *ordered {
	if good(r) {
		return &h.good
	}
	return &h.bad
}

func (h *history) len() int {
	if h == nil {
		return 0
	}
	n := len(h.good.runs) + len(h.bad.runs)
	if h.held != nil {
		for i := range h.held {
			n += len(h.held[i].runs)
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
	if h.held != nil {
		lists = append(lists, h.held[:]...)
	}
	for _, list := range lists {
		for _, r := range list.runs {
			if !yield(r) {
				return
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
	if i := slices.Index(holds[:], heldFor(r)); i < 0 {
		h.kind(r).add(r)
	} else {
		if h.held == nil {
			h.held = new([len(holds)]ordered)
		}
		h.held[i].add(r)
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

// remove removes the run of that id, if it is there.
func (h *history) remove(id string) {
	r := h.get(id)
	if r == nil {
		return
	}
	if !h.release(r) {
		h.kind(r).remove(r)
	}
	if delete(h.byID, id); h.len() == 0 {
		h.byID, h.held = nil, nil
	}
}

// release removes r from those that are held, and says whether it was among them.
func (h *history) release(r *job.Run) bool {
	i := slices.Index(holds[:], heldFor(r))
	return i >= 0 && h.held != nil && h.held[i].remove(r)
}

// ripen takes those among the others that need not be kept any more.
func (h *history) ripen(now time.Time) {
	if h.held == nil {
		return
	}
	for i := range h.held {
		o := &h.held[i]
		for r := o.first(); r != nil && now.Sub(r.Ended()) >= holds[i]; r = o.first() {
			o.remove(r)
			h.kind(r).add(r)
		}
	}
}

// over is how many runs are beyond the numbers to be kept, at most.
func (h *history) over(keep Retention) (n int) {
	if keep.Success > 0 {
		n += max(0, len(h.good.runs)-keep.Success)
	}
	if keep.Failed > 0 {
		n += max(0, len(h.bad.runs)-keep.Failed)
	}
	return n
}

// expiry is when a run is beyond its age, or need not be held any more, false if never.
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
	if h.held != nil && keep != (Retention{}) {
		for i := range h.held {
			soonest(&h.held[i], holds[i])
		}
	}
	return at, ok
}

// prune removes what of a job's history is beyond its bounds.
func (p *Planner) prune(j *jobState, now time.Time) *job.Decision {
	h, keep := j.ended, p.cfg.Retention
	if h == nil {
		return nil
	}
	// A few at a time while the job is active. A job that rests is pruned fully.
	few := job.MaxDrops / 2
	if len(j.live.order) == 0 {
		few = 1
	}
	h.ripen(now)
	at, any := h.expiry(keep)
	if aged := any && !now.Before(at); !aged && h.over(keep) < few {
		p.expect(j)
		return nil
	}
	drops := h.beyond(keep, j.lookBack(), now)
	if len(drops) == 0 {
		p.expect(j)
	}
	if len(drops) < few {
		return nil
	}
	return &job.Decision{Drops: drops}
}

// expect has the job looked at when its history is to be.
func (p *Planner) expect(j *jobState) {
	if at, ok := j.ended.expiry(p.cfg.Retention); ok {
		p.wakeAt(j, at)
	}
}

// beyond lists runs beyond the bounds, those that ended first first, as many as one decision removes. The latest tried ones
// that began are kept whatever their number: a breaker goes by them.
func (h *history) beyond(keep Retention, tried int, now time.Time) []*job.Run {
	spared := h.lastBegun(tried)
	drops := append(h.good.beyond(keep.Success, keep.MaxAge, spared, now), h.bad.beyond(keep.Failed, keep.MaxAge, spared, now)...)
	slices.SortStableFunc(drops, byEnd)
	return drops[:min(len(drops), job.MaxDrops)]
}

// lastBegun is from which end on runs that began are among the last n of them, zero if none is. Those that are held are left out.
func (h *history) lastBegun(n int) (from time.Time) {
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
