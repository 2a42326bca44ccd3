package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// agenda takes up to limit jobs that have to be looked at: those that waited for room or a limit where there is some now,
// those that changed, and those whose time has come. The more urgent come first, since they take the room; and those that
// waited are among them in any case, or else others that change all the time would take it again and again.
func (p *Planner) agenda(now time.Time, limit int) []*jobState {
	list := p.roomFor(limit)
	list = append(list, p.turns(limit-len(list), now)...)
	n := min(limit-len(list), len(p.dirty))
	for _, j := range p.dirty[:n] {
		j.dirty = false
	}
	list = append(list, p.dirty[:n]...)
	if p.dirty = p.dirty[n:]; len(p.dirty) == 0 {
		p.dirty = nil // there may have been very many
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

// urgentFirst puts jobs into the order in which they take what there is, each of them once.
func (p *Planner) urgentFirst(list []*jobState, now time.Time) []*jobState {
	type urgent struct {
		job   *jobState
		since time.Time
	}
	order := make([]urgent, len(list))
	for i, j := range list {
		order[i] = urgent{j, j.dueSince(now)}
		p.timers.set(j, time.Time{})
	}
	slices.SortFunc(order, func(a, b urgent) int {
		return cmp.Or(cmp.Compare(b.job.priority(), a.job.priority()), a.since.Compare(b.since), strings.Compare(a.job.name, b.job.name))
	})
	list = list[:0]
	for i, u := range order {
		if i == 0 || order[i-1].job != u.job {
			list = append(list, u.job)
		}
	}
	return list
}

// dueSince is since when a run of the job waits that is due; if there is none, since when the job was to be looked at.
func (j *jobState) dueSince(now time.Time) time.Time {
	for _, r := range j.live.order {
		if r.Due.After(now) {
			break
		}
		if r.State == job.Pending {
			return r.Due
		}
	}
	return job.Earlier(j.wake, now)
}
