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
// on every change of a run, looks at few of them: there may be a day's submissions.
type history struct {
	plain ordered
	held  *[len(holds)]ordered // those that wait until they need not be kept, and then are plain; nil: none is
	byID  map[string]*job.Run  // all of them; nil while they are few
	good  int32                // how many of plain succeeded or were skipped
	begun int32                // how many of plain were attempted
}

// fewRuns is how many runs are found by looking at each of them.
const fewRuns = 64

func good(r *job.Run) bool { return r.State == job.Succeeded || r.State == job.Skipped }

func (h *history) len() int {
	n := len(h.plain.runs)
	if h.held != nil {
		for i := range h.held {
			n += len(h.held[i].runs)
		}
	}
	return n
}

// all yields each run.
func (h *history) all(yield func(*job.Run) bool) {
	for _, r := range h.plain.runs {
		if !yield(r) {
			return
		}
	}
	if h.held == nil {
		return
	}
	for i := range h.held {
		for _, r := range h.held[i].runs {
			if !yield(r) {
				return
			}
		}
	}
}

// get returns the run of that id, nil if it is not there.
func (h *history) get(id string) *job.Run {
	if h.byID != nil {
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
		h.addPlain(r)
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

func (h *history) addPlain(r *job.Run) {
	h.plain.add(r)
	h.count(r, 1)
}

// count counts r as one of plain, n times: 1 or -1.
func (h *history) count(r *job.Run, n int32) {
	if good(r) {
		h.good += n
	}
	if len(r.Attempts) > 0 {
		h.begun += n
	}
}

// remove removes the run of that id, if it is there.
func (h *history) remove(id string) {
	r := h.get(id)
	if r == nil {
		return
	}
	if !h.release(r) && h.plain.remove(r) {
		h.count(r, -1)
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
			h.addPlain(r)
		}
	}
}

// over is how many runs are beyond the numbers to be kept, at most.
func (h *history) over(keep Retention) (n int) {
	if keep.Success > 0 {
		n += max(0, int(h.good)-keep.Success)
	}
	if keep.Failed > 0 {
		n += max(0, len(h.plain.runs)-int(h.good)-keep.Failed)
	}
	return n
}

// expiry is when a run is beyond its age, or need not be held any more, false if never.
func (h *history) expiry(keep Retention) (at time.Time, ok bool) {
	if r := h.plain.first(); r != nil && keep.MaxAge > 0 {
		at, ok = r.Ended().Add(keep.MaxAge+time.Millisecond), true
	}
	if h.held == nil || keep == (Retention{}) {
		return at, ok
	}
	for i := range h.held {
		if r := h.held[i].first(); r != nil {
			if ripe := r.Ended().Add(holds[i] + time.Millisecond); !ok || ripe.Before(at) {
				at, ok = ripe, true
			}
		}
	}
	return at, ok
}

// prune removes what of a job's history is beyond its bounds.
func (p *Planner) prune(j *jobState, now time.Time) *job.Decision {
	h, keep := &j.ended, p.cfg.Retention
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
func (h *history) beyond(keep Retention, tried int, now time.Time) (drops []*job.Run) {
	h.plain.sort()
	succeeded, begun := int(h.good), int(h.begun) // how many there are from r on
	failed := len(h.plain.runs) - succeeded
	for _, r := range h.plain.runs {
		aged := keep.MaxAge > 0 && now.Sub(r.Ended()) > keep.MaxAge
		many, more := keep.Success > 0 && succeeded > keep.Success, keep.Failed > 0 && failed > keep.Failed
		if len(drops) == job.MaxDrops || !aged && !many && !more {
			break
		}
		over := more
		if good(r) {
			over = many
			succeeded--
		} else {
			failed--
		}
		if len(r.Attempts) > 0 {
			over = over && begun > tried
			begun--
		}
		if over || aged {
			drops = append(drops, r)
		}
	}
	return drops
}
