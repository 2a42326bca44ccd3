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

// demandKind identifies a kind of room. Jobs with the same kind wait for the same room.
type demandKind struct {
	key   string // see demandKey
	early bool   // the room is for runs that are due later
}

// demand is a set of jobs that wait for room at workers that accept the same specs.
type demand struct {
	spec    *job.Spec
	on      string // the only worker that helps; "": any that accepts spec
	jobs    waitHeap
	members map[*jobState]waiter // how each job waits now; other entries of the heap are out of date
}

// waitForRoom queues j until a worker that accepts its run r of spec has room for it.
func (p *Planner) waitForRoom(j *jobState, spec *job.Spec, r *job.Run, now time.Time) {
	kind := demandKind{demandKey(spec, r.On), r.Due.After(now)}
	d := p.waiting[kind]
	if d == nil {
		d = &demand{spec: spec, on: r.On, members: make(map[*jobState]waiter)}
		p.waiting[kind] = d
	}
	if w := (waiter{job: j, priority: spec.Priority, since: j.queuedSince(r)}); d.members[j] != w {
		d.members[j] = w
		heap.Push(&d.jobs, w)
	}
	if len(d.jobs) > 2*len(d.members)+fewRuns { // without room, entries out of date would pile up
		d.jobs = slices.Collect(maps.Values(d.members))
		heap.Init(&d.jobs)
	}
}

// withRoom takes up to n waiting jobs for which there is room.
func (p *Planner) withRoom(n int) (list []*jobState) {
	for kind, d := range p.waiting {
		room := 0
		for _, w := range p.workers {
			switch {
			case w.present == nil || d.on != "" && d.on != w.name || !w.present.Accepts(d.spec):
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

// demandKey returns a key that is equal for runs that the same workers accept. on is the only worker that may execute them; "":
// any.
func demandKey(s *job.Spec, on string) string {
	kinds := s.LimitedByWorker()
	if on == "" && s.Handler == "" && len(s.Workers) == 0 && len(kinds) == 0 {
		return s.Kind()
	}
	var key strings.Builder
	key.WriteString(s.Kind() + strconv.Quote(s.Handler) + strings.Join(kinds, " "))
	for _, label := range slices.Sorted(maps.Keys(s.Workers)) {
		key.WriteString(strconv.Quote(label) + strconv.Quote(s.Workers[label]))
	}
	if on != "" {
		key.WriteString(" on " + on)
	}
	return key.String()
}

// waiter is a job that waits for room.
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
func (h *waitHeap) Pop() any     { return popLast(h) }

// Load is the capacity of all workers and the work that uses or needs it. It is all that an autoscaler needs.
type Load struct {
	Capacity int // runs that the workers execute at a time, without the workers that accept none now
	Held     int // due runs at workers
	Waiting  int // due runs that wait for room: at least one worker accepts them
	// Unmatched is the number of due runs that no present worker accepts. More workers of the present kinds do not help them.
	Unmatched int
}

// unplacedRuns counts due runs without a worker.
type unplacedRuns struct {
	waiting   int // a worker accepts them, and none has room
	unmatched int // no worker accepts them
}

// Load returns the load as of the last decision of each job. A run that waits for anything other than room does not count, for
// example if it waits for an earlier run of its job.
func (p *Planner) Load() Load {
	l := Load{Waiting: p.unplaced.waiting, Unmatched: p.unplaced.unmatched}
	for _, w := range p.workers {
		if w.present != nil && !w.present.AcceptsNone() {
			l.Capacity += w.present.Capacity
		}
		for session, assigned := range w.assigned {
			l.Held += assigned - w.early[session]
		}
	}
	return l
}

// setUnplaced records n, the due runs of j without a worker.
func (p *Planner) setUnplaced(j *jobState, n unplacedRuns) {
	before := j.trouble().unplaced
	if n == before {
		return
	}
	p.unplaced.waiting += n.waiting - before.waiting
	p.unplaced.unmatched += n.unmatched - before.unmatched
	j.ensureTrouble().unplaced = n
}
