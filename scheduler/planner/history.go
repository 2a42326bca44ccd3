package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// KeyRetention is how long a run that was submitted with an idempotency key is kept at least, whatever the retention: as
// long as its record is there, the same key makes no other run.
const KeyRetention = 24 * time.Hour

// prune removes what of a job's history is beyond its bounds.
func (p *Planner) prune(j *jobState, now time.Time) *job.Decision {
	keep := p.cfg.Retention
	j.sortEnded()
	var drops []*job.Run
	success, failed := 0, 0
	for _, r := range slices.Backward(j.ended) {
		if r.Key != "" && now.Sub(r.Finished) < KeyRetention {
			continue
		}
		good := r.State == job.Succeeded || r.State == job.Skipped
		var over bool
		if good {
			success++
			over = keep.Success > 0 && success > keep.Success
		} else {
			failed++
			over = keep.Failed > 0 && failed > keep.Failed
		}
		if over || keep.MaxAge > 0 && now.Sub(r.Finished) > keep.MaxAge {
			drops = append(drops, r)
		}
	}
	if len(drops) == 0 {
		if at, ok := p.nextExpiry(j); ok {
			p.wakeAt(j, at)
		}
		return nil
	}
	// A few at a time while the job is active. A job that rests is pruned fully.
	if len(drops) < job.MaxDrops/2 && len(j.live.order) > 0 {
		return nil
	}
	slices.Reverse(drops)
	return &job.Decision{Drops: drops[:min(len(drops), job.MaxDrops)]}
}

// nextExpiry is when the next run of the job's history is beyond its age.
func (p *Planner) nextExpiry(j *jobState) (next time.Time, ok bool) {
	if p.cfg.Retention.MaxAge <= 0 {
		return time.Time{}, false
	}
	for _, r := range j.ended {
		age := p.cfg.Retention.MaxAge
		if r.Key != "" {
			age = max(age, KeyRetention)
		}
		if at := r.Finished.Add(age + time.Millisecond); !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}

func (j *jobState) sortEnded() {
	if j.unsorted {
		slices.SortFunc(j.ended, func(a, b *job.Run) int { return a.Finished.Compare(b.Finished) })
		j.unsorted = false
	}
}
