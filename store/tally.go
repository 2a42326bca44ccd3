package store

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// tally counts the runs of a mirror while records change. So a count costs the same with a million runs as with one. Its numbers
// equal those of a scan of all records at the same revision.
type tally struct {
	phases    map[phaseKey]int
	submitted map[string]int // runs that await their start, by job: see job.Run.AwaitsStart
	ended     map[int64]*endedCount
	awaiting  int // sum of submitted
}

// phaseKey is a phase, and for job.PhaseWaiting what the runs wait for.
type phaseKey struct {
	phase job.Phase
	waits string
}

// endedCount counts the runs that ended within one second, by their states.
type endedCount map[job.State]int

// endedWindow is how many seconds back ended runs are counted.
const endedWindow = 24*60*60 + 60

func newTally() tally {
	return tally{phases: make(map[phaseKey]int), submitted: make(map[string]int), ended: make(map[int64]*endedCount)}
}

// change counts the replacement of one record by another. A value that is no run does not count.
func (t *tally) change(before, after any) {
	t.count(before, -1)
	t.count(after, 1)
}

func (t *tally) count(value any, n int) {
	switch r := value.(type) {
	case *job.Run:
		t.add(r, n)
	case *job.Delayed:
		var run job.Run
		r.Read(&run)
		t.add(&run, n)
	}
}

func (t *tally) add(r *job.Run, n int) {
	phase := r.Phase()
	if phase == "" {
		t.addEnded(r, n)
		return
	}
	key := phaseKey{phase: phase}
	if phase == job.PhaseWaiting {
		key.waits = r.WaitsFor()
	}
	increase(t.phases, key, n)
	if r.AwaitsStart() {
		increase(t.submitted, r.Job, n)
		t.awaiting += n
	}
}

func increase[K comparable](counts map[K]int, key K, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

func (t *tally) addEnded(r *job.Run, n int) {
	second := r.Ended().Unix()
	count := t.ended[second]
	if count == nil {
		if n < 0 || second < time.Now().Unix()-endedWindow { // it left the window before
			return
		}
		t.forget()
		count = new(endedCount)
		*count = make(endedCount, 1)
		t.ended[second] = count
	}
	if (*count)[r.State] += n; (*count)[r.State] == 0 {
		delete(*count, r.State)
	}
	if len(*count) == 0 {
		delete(t.ended, second)
	}
}

// forget removes the seconds that have left the window, once they may be more than those in it.
func (t *tally) forget() {
	if len(t.ended) <= 2*endedWindow {
		return
	}
	for second := range t.ended {
		if second < time.Now().Unix()-endedWindow {
			delete(t.ended, second)
		}
	}
}

// RunCounts counts the runs in the store. Ended runs count while history keeps them.
type RunCounts struct {
	Phases  map[job.Phase]int // runs that have not ended
	Waiting map[string]int    // of job.PhaseWaiting, by what they wait for
	Hour    map[job.State]int // runs that ended within the last hour, by outcome
	Day     map[job.State]int // the same for 24 hours
	Awaits  int               // submitted runs that await their start
}

// CountRuns counts the runs at now. The windows of ended runs begin at a whole second.
func (m *Mirror) CountRuns(now time.Time) RunCounts {
	c := RunCounts{
		Phases: make(map[job.Phase]int), Waiting: make(map[string]int),
		Hour: make(map[job.State]int), Day: make(map[job.State]int),
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for key, n := range m.tally.phases {
		c.Phases[key.phase] += n
		if key.waits != "" {
			c.Waiting[key.waits] += n
		}
	}
	for second, count := range m.tally.ended {
		age := now.Unix() - second
		for state, n := range *count {
			if age < 60*60 {
				c.Hour[state] += n
			}
			if age < 24*60*60 {
				c.Day[state] += n
			}
		}
	}
	c.Awaits = m.tally.awaiting
	return c
}
