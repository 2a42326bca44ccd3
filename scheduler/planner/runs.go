package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// liveRuns are the runs of one job that have not ended.
type liveRuns struct {
	byID  map[string]*liveRun // without those in far; nil until there is one
	order []*liveRun          // the same, by due time
	far   *delayed.Runs       // far in the future: decisions do not visit them. nil: there are none
	begun int                 // how many of them have begun
	bound int                 // how many of them only one worker may execute
}

// noRuns is shared by all jobs without live runs. It stays empty.
var noRuns = new(liveRuns)

// liveRun is a run that has not ended. Its times are by the planner's clock, because a worker's clock may be wrong.
type liveRun struct {
	*job.Run
	since   time.Time // when the planner learnt the present record
	first   time.Time // when the first attempt started, zero if none has
	number  int       // the latest attempt that has started
	started time.Time // when it started
	inEarly bool      // it is in Planner.early

	returned []string // workers that gave the present attempt back unstarted, the latest last
}

// clockSlack is how far a worker's clock may be behind. If it is further behind, the planner does not use its times.
const clockSlack = time.Second

// newLiveRun returns the state of r from now on. was is the run before the change; nil if it is new. A start time from a worker's
// clock is believed if it lies between the due time of the attempt and now.
func newLiveRun(was *liveRun, r *job.Run, now time.Time) *liveRun {
	l := &liveRun{Run: r, since: now}
	if was != nil {
		l.first, l.started, l.number = was.first, was.started, was.number
	}
	last, before := len(r.Attempts)-1, l.number
	switch {
	case r.State == job.Running && r.Attempt > l.number:
		l.number, l.started = r.Attempt, r.Began()
		if was != nil { // the planner saw the run before its start, so it can check the worker's time
			l.started = r.Started
			if r.Started.Before(startsAt(r).Add(-clockSlack)) {
				l.started = now
			}
		}
		l.started = job.Later(job.Earlier(l.started, now), startsAt(r))
	case r.State != job.Running && last >= 0 && r.Attempts[last].Number > l.number:
		l.number, l.started = r.Attempts[last].Number, startedAt(r, now)
	}
	if r.Copies != nil { // its copies start as soon as its workers are chosen
		l.first = r.Armed
	}
	if l.first.IsZero() {
		l.first = l.started
		if last >= 0 {
			at, _ := r.Span(0)
			l.first = job.Earlier(at, now)
		}
	}
	if was != nil && l.number == before { // no attempt has started since
		l.returned = was.returned
		if was.State == job.Armed {
			l.returned = moveToEnd(was.returned, was.Worker)
		}
	}
	return l
}

// moveToEnd returns a copy of list with name as its last element, and nowhere else.
func moveToEnd(list []string, name string) []string {
	others := slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == name })
	return append(others, name)
}

// endedAt returns when the run ended, by the planner's clock and not after now. The planner takes the duration of the run from
// its worker.
func (r *liveRun) endedAt(now time.Time) time.Time {
	at := r.Finished
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Finished.Equal(at) && !r.Attempts[n-1].GivenUp {
		at = r.started.Add(at.Sub(r.Attempts[n-1].Started))
	}
	return job.Earlier(at, now)
}

// begun reports whether the run is at a worker, or was and waits for another attempt. A run for which a person was asked counts
// too, because its job waits for it. A run on every worker has begun once its workers are chosen, and so have its copies.
func (r *liveRun) begun() bool {
	return !r.unstarted() || r.Asked() || r.Copies != nil || r.Kind == job.KindCopy
}

// unstarted reports whether the run has no worker and never had one.
func (r *liveRun) unstarted() bool { return r.State == job.Pending && r.Attempt == 0 }

// waits reports whether the run has no worker and never had one, and waits neither for a person nor for copies.
func (r *liveRun) waits() bool {
	return r.unstarted() && !r.AwaitsApproval() && r.Copies == nil && r.Kind != job.KindCopy
}

// assigned reports whether the run is at a worker.
func (r *liveRun) assigned() bool { return isAssigned(r.Run) }

// none reports whether no run is live.
func (s *liveRuns) none() bool { return len(s.byID) == 0 && s.far == nil }

// find returns the run of that id, nil if it is not there.
func (s *liveRuns) find(id string) *liveRun {
	if d := s.far.Get(id); d != nil {
		return &liveRun{Run: d.Run()}
	}
	return s.byID[id]
}

// has reports whether there is a run of that id.
func (s *liveRuns) has(id []byte) bool {
	return s.byID[string(id)] != nil || s.far != nil && s.far.Get(string(id)) != nil
}

// get returns the record of the run of that id, nil if it is not there.
func (s *liveRuns) get(id string) *job.Run {
	if r := s.find(id); r != nil {
		return r.Run
	}
	return nil
}

// put adds the run at now. There must be no live run of the same id.
func (s *liveRuns) put(r *liveRun, now time.Time) {
	if isFar(r.Due, now) {
		if d := r.Delay(); d != nil {
			s.putFar(d)
			return
		}
	}
	s.insert(r)
}

// insert adds a run to those that decisions visit.
func (s *liveRuns) insert(r *liveRun) {
	if s.byID == nil {
		s.byID = make(map[string]*liveRun, 1)
	}
	s.byID[r.ID] = r
	i, _ := slices.BinarySearchFunc(s.order, r, compareDue)
	s.order = slices.Insert(s.order, i, r)
	if r.begun() {
		s.begun++
	}
	if r.On != "" {
		s.bound++
	}
}

// remove removes r, which find has returned. nil is ignored.
func (s *liveRuns) remove(r *liveRun) {
	if r == nil {
		return
	}
	if s.removeFar(r.ID); s.byID[r.ID] != r {
		return
	}
	delete(s.byID, r.ID)
	if i, ok := slices.BinarySearchFunc(s.order, r, compareDue); ok {
		s.order = slices.Delete(s.order, i, i+1)
	}
	if r.begun() {
		s.begun--
	}
	if r.On != "" {
		s.bound--
	}
}

// haveBegun yields the runs that have begun.
func (s *liveRuns) haveBegun(yield func(*liveRun) bool) {
	left := s.begun
	for _, r := range s.order {
		if left == 0 {
			return
		}
		if r.begun() {
			if left--; !yield(r) {
				return
			}
		}
	}
}

func compareDue(a, b *liveRun) int {
	if c := a.Due.Compare(b.Due); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
