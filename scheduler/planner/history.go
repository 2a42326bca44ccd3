package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// KeyRetention is how long a run that was submitted with an idempotency key is kept at least, whatever the retention: as
// long as its record is there, the same key makes no other run.
const KeyRetention = 24 * time.Hour

// history is the runs of one job that have ended and are still in the store. What is asked on every look at the job takes
// no look at the runs.
type history struct {
	runs     []*job.Run // in the order of their ends, unless unsorted
	expiry   time.Time  // no run is beyond its age before it; zero: never
	good     int32      // how many of them succeeded or were skipped
	unsorted bool
}

func good(r *job.Run) bool { return r.State == job.Succeeded || r.State == job.Skipped }

// index finds a run, -1 if it is not there. Those that ended first and last are found first.
func (h *history) index(id string) int {
	for i, k := 0, len(h.runs)-1; i <= k; i, k = i+1, k-1 {
		if h.runs[k].ID == id {
			return k
		}
		if h.runs[i].ID == id {
			return i
		}
	}
	return -1
}

func (h *history) add(r *job.Run, keep Retention) {
	if n := len(h.runs); n > 0 && r.Ended().Before(h.runs[n-1].Ended()) {
		h.unsorted = true
	}
	h.runs = append(h.runs, r)
	if good(r) {
		h.good++
	}
	if at, ok := keep.expiry(r); ok && (h.expiry.IsZero() || at.Before(h.expiry)) {
		h.expiry = at
	}
}

// remove removes the i-th run; -1 is none.
func (h *history) remove(i int) {
	if i < 0 {
		return
	}
	if good(h.runs[i]) {
		h.good--
	}
	h.runs = slices.Delete(h.runs, i, i+1)
}

// over is how many runs are beyond the numbers to be kept, at most.
func (h *history) over(keep Retention) (n int) {
	if keep.Success > 0 {
		n += max(0, int(h.good)-keep.Success)
	}
	if keep.Failed > 0 {
		n += max(0, len(h.runs)-int(h.good)-keep.Failed)
	}
	return n
}

// sort puts the runs into the order of their ends, and looks when the next is beyond its age.
func (h *history) sort(keep Retention) {
	if h.unsorted {
		slices.SortFunc(h.runs, func(a, b *job.Run) int { return a.Ended().Compare(b.Ended()) })
		h.unsorted = false
	}
	h.expiry = time.Time{}
	for _, r := range h.runs {
		if at, ok := keep.expiry(r); ok && (h.expiry.IsZero() || at.Before(h.expiry)) {
			h.expiry = at
		}
	}
}

// expiry is when r is beyond its age.
func (k Retention) expiry(r *job.Run) (time.Time, bool) {
	if k.MaxAge <= 0 {
		return time.Time{}, false
	}
	age := k.MaxAge
	if r.Key != "" {
		age = max(age, KeyRetention)
	}
	return r.Ended().Add(age + time.Millisecond), true
}

// prune removes what of a job's history is beyond its bounds.
func (p *Planner) prune(j *jobState, now time.Time) *job.Decision {
	h, keep := &j.ended, p.cfg.Retention
	// A few at a time while the job is active. A job that rests is pruned fully.
	few := job.MaxDrops / 2
	if len(j.live.order) == 0 {
		few = 1
	}
	aged := !h.expiry.IsZero() && !now.Before(h.expiry)
	if !aged && h.over(keep) < few {
		p.expect(j)
		return nil
	}
	h.sort(keep)
	drops := h.beyond(keep, j.lookBack(), now)
	if len(drops) == 0 {
		p.expect(j)
	}
	if len(drops) < few {
		return nil
	}
	return &job.Decision{Drops: drops[:min(len(drops), job.MaxDrops)]}
}

// expect has the job looked at when a run of its history is beyond its age.
func (p *Planner) expect(j *jobState) {
	if !j.ended.expiry.IsZero() {
		p.wakeAt(j, j.ended.expiry)
	}
}

// beyond lists the runs beyond the bounds, those that ended first first. The latest tried ones that began are kept whatever
// their number: a breaker goes by them.
func (h *history) beyond(keep Retention, tried int, now time.Time) (drops []*job.Run) {
	success, failed := 0, 0
	for _, r := range slices.Backward(h.runs) {
		if r.Key != "" && now.Sub(r.Ended()) < KeyRetention {
			continue
		}
		var over bool
		if good(r) {
			success++
			over = keep.Success > 0 && success > keep.Success
		} else {
			failed++
			over = keep.Failed > 0 && failed > keep.Failed
		}
		if len(r.Attempts) > 0 && tried > 0 {
			tried--
			over = false
		}
		if over || keep.MaxAge > 0 && now.Sub(r.Ended()) > keep.MaxAge {
			drops = append(drops, r)
		}
	}
	slices.Reverse(drops)
	return drops
}
