package delayed

import (
	"iter"
	"maps"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/keyed"
)

// Runs is a set of delayed runs of one job, by ID. A million may wait, so it finds the earliest ones without a look at the others.
// The zero value and nil are empty. Runs is not safe for concurrent use, but several goroutines may read it.
type Runs struct {
	byID  map[string]*job.Delayed
	order keyed.Heap[*job.Delayed] // by due time. It may have runs that have left the set, but the first one is in it
}

// Len returns the number of runs.
func (s *Runs) Len() int {
	if s == nil {
		return 0
	}
	return len(s.byID)
}

// Get returns the run with an ID; nil if it is not there.
func (s *Runs) Get(id string) *job.Delayed {
	if s == nil {
		return nil
	}
	return s.byID[id]
}

// Put adds a run. It replaces the one with the same ID. A Delayed that was removed must not be put again.
func (s *Runs) Put(d *job.Delayed) {
	if s.byID == nil {
		s.byID = make(map[string]*job.Delayed, 1)
	}
	s.byID[d.ID()] = d
	s.order.Push(d.DueNanos(), d)
	s.tidy()
}

// Remove removes the run with an ID, if it is there.
func (s *Runs) Remove(id string) {
	delete(s.byID, id)
	s.tidy()
}

// fewLeft is how many runs that have left the set the order may have, beside one for four runs that are in the set.
const fewLeft = 64

// tidy removes runs that have left the set from the order: those before the first run, or all if there are too many.
func (s *Runs) tidy() {
	if s.order.Len() > len(s.byID)+len(s.byID)/4+fewLeft {
		s.order = keyed.Heap[*job.Delayed]{}
		s.order.Grow(len(s.byID))
		for _, d := range s.byID {
			s.order.Push(d.DueNanos(), d)
		}
	}
	for s.order.Len() > 0 {
		if _, d := s.order.Min(); s.byID[d.ID()] == d {
			return
		}
		s.order.Pop()
	}
}

// First returns the due time of the earliest run, as job.Instant gives it; false if there is no run.
func (s *Runs) First() (due int64, ok bool) {
	if s.Len() == 0 {
		return 0, false
	}
	due, _ = s.order.Min()
	return due, true
}

// All returns the runs in no order.
func (s *Runs) All() iter.Seq[*job.Delayed] {
	if s == nil {
		return func(func(*job.Delayed) bool) {}
	}
	return maps.Values(s.byID)
}

// Ascending returns the runs with their due times as job.Instant gives them, the earliest first. The set must not change meanwhile.
func (s *Runs) Ascending() iter.Seq2[int64, *job.Delayed] {
	return func(yield func(int64, *job.Delayed) bool) {
		if s == nil {
			return
		}
		for due, d := range s.order.Ascending() {
			if s.byID[d.ID()] == d && !yield(due, d) {
				return
			}
		}
	}
}
