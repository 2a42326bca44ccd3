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
	first time.Time // when its first attempt began, zero if none has; see watch
	began time.Time // when the latest one that has begun did
	tried int       // its number

	returned []string // workers that had it since, and did not begin it, the last one last
}

// clockSlack is how far behind ours a worker's clock may be without our calling it wrong.
const clockSlack = time.Second

// watch returns r as it stands from now on, was being what was known of it before: nil if nothing. When an attempt began it
// tells by our own clock, since its worker's may be wrong: what that says is believed if it lies between the attempt's time
// and now.
func watch(was *liveRun, r *job.Run, now time.Time) *liveRun {
	l := &liveRun{Run: r, since: now}
	if was != nil {
		l.first, l.began, l.tried = was.first, was.began, was.tried
	}
	last, tried := len(r.Attempts)-1, l.tried
	switch {
	case r.State == job.Running && r.Attempt > l.tried:
		l.tried, l.began = r.Attempt, r.Began()
		if was != nil { // we hear of it as it begins
			l.began = r.Started
			if r.Started.Before(begins(r).Add(-clockSlack)) {
				l.began = now
			}
		}
		l.began = job.Later(job.Earlier(l.began, now), begins(r))
	case r.State != job.Running && last >= 0 && r.Attempts[last].Number > l.tried:
		l.tried, l.began = r.Attempts[last].Number, began(r, now)
	}
	if l.first.IsZero() {
		l.first = l.began
		if last >= 0 {
			at, _ := r.Span(0)
			l.first = job.Earlier(at, now)
		}
	}
	if was != nil && l.tried == tried { // no attempt has begun
		l.returned = was.returned
		if was.State == job.Armed {
			l.returned = returnedBy(was.Worker, was.returned)
		}
	}
	return l
}

// returnedBy is list with worker as its last.
func returnedBy(worker string, list []string) []string {
	others := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return name == worker })
	return append(others, worker)
}

// ended is when the run, which has ended, did by our own clock: as long after it began as its worker says, but not after now.
func (r *liveRun) ended(now time.Time) time.Time {
	at := r.Finished
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Finished.Equal(at) && !r.Attempts[n-1].GivenUp {
		at = r.began.Add(at.Sub(r.Attempts[n-1].Started))
	}
	return job.Earlier(at, now)
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
func (s *liveRuns) put(r *liveRun) {
	s.remove(r.ID)
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
