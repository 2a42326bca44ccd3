package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// markDirty schedules j for the next Plan.
func (p *Planner) markDirty(j *jobState) {
	if !j.dirty {
		j.dirty = true
		p.dirty = append(p.dirty, j)
	}
}

// wakeAt schedules j for at, or earlier if it already has an earlier timer.
func (p *Planner) wakeAt(j *jobState, at time.Time) {
	if j.timer == 0 || job.Instant(at) < j.wake {
		p.timers.set(j, at)
	}
}

// setFollowerTimers sets the timer of each job that changed, so that a new leader finds them ready.
func (p *Planner) setFollowerTimers() {
	for _, j := range p.dirty {
		j.dirty = false
		p.timers.set(j, time.Time{})
		if due, ok := p.nextDue(j); ok {
			p.wakeAt(j, due.Add(-p.cfg.ArmAhead))
		}
		p.wakeToPrune(j)
	}
	p.dirty = nil
}

// maxDirtyRoom is the largest capacity that Planner.dirty keeps while it is empty. The list may have been very long.
const maxDirtyRoom = 4096

// agenda takes up to limit jobs to decide now. First come jobs that waited for room or for a limit and can have it now, then
// jobs that changed, then jobs whose timer has expired. With this order, jobs that change all the time cannot take the room for
// ever. The result is sorted by urgency, because the first jobs take the room. It is valid until the next call.
func (p *Planner) agenda(now time.Time, limit int) []*jobState {
	list := p.listed[:0]
	list = append(list, p.withRoom(limit)...)
	list = append(list, p.withLimits(limit-len(list), now)...)
	n := min(limit-len(list), len(p.dirty))
	for _, j := range p.dirty[:n] {
		j.dirty = false
	}
	list = append(list, p.dirty[:n]...)
	switch {
	case n < len(p.dirty):
		p.dirty = p.dirty[n:]
	case cap(p.dirty) > maxDirtyRoom:
		p.dirty = nil
	default:
		p.dirty = p.dirty[:0]
	}
	for len(list) < limit {
		j := p.timers.due(now)
		if j == nil {
			break
		}
		list = append(list, j)
	}
	return p.urgentFirst(list, now)
}

// urgent says how urgent a job is.
type urgent struct {
	job      *jobState
	priority int
	since    int64
}

// urgentFirst sorts jobs by urgency, removes duplicates and clears their timers.
func (p *Planner) urgentFirst(list []*jobState, now time.Time) []*jobState {
	order := p.order[:0]
	for _, j := range list {
		order = append(order, urgent{j, j.priority(), p.dueSince(j, now)})
		p.timers.set(j, time.Time{})
	}
	p.listed, p.order = list, order // used again by the next call
	slices.SortFunc(order, func(a, b urgent) int {
		if c := cmp.Compare(b.priority, a.priority); c != 0 {
			return c
		}
		if c := cmp.Compare(a.since, b.since); c != 0 {
			return c
		}
		return strings.Compare(a.job.name, b.job.name)
	})
	list = list[:0]
	for i, u := range order {
		if i == 0 || order[i-1].job != u.job {
			list = append(list, u.job)
		}
	}
	return list
}

// dueSince returns since when the first waiting run of the job, or its next slot, has its place in queues; now if none is due. A
// step has no slot of its own: its timer counts. See instant.
func (p *Planner) dueSince(j *jobState, now time.Time) int64 {
	for _, r := range j.live.order {
		if r.Due.After(now) {
			break
		}
		if r.State == job.Pending {
			return job.Instant(j.queuedSince(r.Run))
		}
	}
	since := job.Instant(now)
	if j.isStep() {
		since = min(since, j.wake)
	} else if due, ok := p.nextDue(j); ok {
		since = min(since, job.Instant(due))
	}
	return since
}
