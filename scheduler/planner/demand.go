package planner

import (
	"container/heap"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// demandKind is what jobs that wait for room have in common.
type demandKind struct {
	key   string // demandKey
	early bool   // they want it for runs whose time has not come
}

// demand is the jobs that wait for room at workers that accept the same things.
type demand struct {
	spec    *job.Spec
	jobs    waitHeap
	members map[*jobState]waiter // the jobs in it, each as it waits now: what else is there of one is out of date
}

// wait queues j, which has a run of spec due at the given time, until a worker that accepts spec has room.
func (p *Planner) wait(j *jobState, key string, spec *job.Spec, since, now time.Time) {
	kind := demandKind{key, since.After(now)}
	d := p.waiting[kind]
	if d == nil {
		d = &demand{spec: spec, members: make(map[*jobState]waiter)}
		p.waiting[kind] = d
	}
	if w := (waiter{job: j, priority: spec.Priority, since: since}); d.members[j] != w {
		d.members[j] = w
		heap.Push(&d.jobs, w)
	}
	if len(d.jobs) > 2*len(d.members)+fewRuns { // or else what is out of date would gather for as long as there is no room
		d.jobs = slices.Collect(maps.Values(d.members))
		heap.Init(&d.jobs)
	}
}

// roomFor takes up to n waiting jobs for which there is room.
func (p *Planner) roomFor(n int) (list []*jobState) {
	for kind, d := range p.waiting {
		room := 0
		for _, w := range p.workers {
			switch {
			case w.present == nil || !w.present.Accepts(d.spec):
			case kind.early:
				room += max(0, w.free())
			default:
				room += max(0, w.room())
			}
		}
		for room > 0 && n > 0 && len(d.jobs) > 0 {
			w := heap.Pop(&d.jobs).(waiter)
			if d.members[w.job] == w {
				delete(d.members, w.job)
				list = append(list, w.job)
				room, n = room-1, n-1
			}
		}
		if len(d.jobs) == 0 {
			delete(p.waiting, kind)
		}
	}
	return list
}

// demandKey is equal for specs that the same workers accept.
func demandKey(s *job.Spec) string {
	kinds := s.Resources.Kinds()
	if s.Handler == "" && len(s.Workers) == 0 && len(kinds) == 0 {
		return ""
	}
	key := strconv.Quote(s.Handler) + strings.Join(kinds, " ")
	for _, label := range slices.Sorted(maps.Keys(s.Workers)) {
		key += strconv.Quote(label) + strconv.Quote(s.Workers[label])
	}
	return key
}

// waiter is a job that waits, with what decides who is first.
type waiter struct {
	job      *jobState
	priority int
	since    time.Time
}

type waitHeap []waiter

func (h waitHeap) Len() int { return len(h) }
func (h waitHeap) Less(i, k int) bool {
	if h[i].priority != h[k].priority {
		return h[i].priority > h[k].priority
	}
	if c := h[i].since.Compare(h[k].since); c != 0 {
		return c < 0
	}
	return h[i].job.name < h[k].job.name
}
func (h waitHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *waitHeap) Push(x any)   { *h = append(*h, x.(waiter)) }
func (h *waitHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = waiter{}
	*h = old[:len(old)-1]
	return w
}
