package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// liveRuns are the runs of one job that have not ended.
type liveRuns struct {
	byID  map[string]*liveRun // nil until there is one
	order []*liveRun          // those due first first
	begun int                 // how many of them have begun
}

// liveRun is a run that has not ended.
type liveRun struct {
	*job.Run
	since time.Time // when the planner learnt that it is as it is
}

// begun says whether the run is with a worker, or was and waits for another attempt.
func (r *liveRun) begun() bool { return r.State != job.Pending || r.Attempt > 0 }

// assigned says whether the run is with a worker.
func (r *liveRun) assigned() bool { return r.State == job.Armed || r.State == job.Running }

func (s *liveRuns) get(id string) *job.Run {
	if r := s.byID[id]; r != nil {
		return r.Run
	}
	return nil
}

// put adds the run, in the place of the one that had its id.
func (s *liveRuns) put(run *job.Run, now time.Time) {
	s.remove(run.ID)
	r := &liveRun{Run: run, since: now}
	if s.byID == nil {
		s.byID = make(map[string]*liveRun, 1)
	}
	s.byID[r.ID] = r
	i, _ := slices.BinarySearchFunc(s.order, r, compareDue)
	s.order = slices.Insert(s.order, i, r)
	if r.begun() {
		s.begun++
	}
}

func (s *liveRuns) remove(id string) {
	r := s.byID[id]
	if r == nil {
		return
	}
	delete(s.byID, id)
	if i, ok := slices.BinarySearchFunc(s.order, r, compareDue); ok {
		s.order = slices.Delete(s.order, i, i+1)
	}
	if r.begun() {
		s.begun--
	}
}

// haveBegun returns those that have begun.
func (s *liveRuns) haveBegun() []*liveRun {
	list := make([]*liveRun, 0, s.begun)
	for _, r := range s.order {
		if len(list) == s.begun {
			break
		}
		if r.begun() {
			list = append(list, r)
		}
	}
	return list
}

func compareDue(a, b *liveRun) int {
	if c := a.Due.Compare(b.Due); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
