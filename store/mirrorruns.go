package store

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The functions accept of these methods must not keep the run that they get. The runs that the methods return are shared, and
// callers must not change them.

// Run returns a run by name. A terminal run comes without output, payload and spec.
func (m *Mirror) Run(name string) (*job.Run, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := job.ValueOf[job.Run](m.records[KindRuns][name].change(KindRuns, name))
	return r, r != nil
}

// RunsNamed returns the runs with an id in all jobs, without delayed runs that wait for their time. It looks at each job that has
// runs. A terminal run comes as from Run.
func (m *Mirror) RunsNamed(id string) (list []*job.Run) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, runs := range m.runs {
		if r := runs[id]; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// Always is later than every due time.
var Always = time.Unix(math.MaxInt64-(1<<40), 0)

// Runs returns the runs of a job that accept accepts, the newest slot first. accept nil accepts all runs. Runs reads no delayed
// runs that wait for a time after by. With the zero time, these are all delayed runs that have not begun. A million may wait: to
// make a list of all takes a gibibyte.
func (m *Mirror) Runs(of string, by time.Time, accept func(*job.Run) bool) []*job.Run {
	runs := m.collectRuns(of, by, accept)
	slices.SortFunc(runs, newestSlot)
	return runs
}

func newestSlot(a, b *job.Run) int {
	return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(a.ID, b.ID))
}

// RunsThat returns the runs of all jobs that accept takes, in no order. To sort all runs would take longer than the rest of a
// request.
func (m *Mirror) RunsThat(accept func(*job.Run) bool) []*job.Run {
	return m.collectRuns("", Always, accept)
}

// RunsDue is RunsThat without the delayed runs that wait for a time after by, as in Runs.
func (m *Mirror) RunsDue(by time.Time, accept func(*job.Run) bool) []*job.Run {
	return m.collectRuns("", by, accept)
}

func (m *Mirror) collectRuns(of string, by time.Time, accept func(*job.Run) bool) (runs []*job.Run) {
	m.eachRun(of, by, func(r *job.Run, whole func() *job.Run) {
		if accept == nil || accept(r) {
			runs = append(runs, whole())
		}
	})
	return runs
}

// FirstRuns returns the first n of the runs of a job that accept accepts, in the order of compare. If of is "", they are those of
// all jobs. It keeps at most twice as many in memory, however many there are. by is that of Runs.
func (m *Mirror) FirstRuns(
	of string, n int, by time.Time, compare func(a, b *job.Run) int, accept func(*job.Run) bool,
) []*job.Run {
	var first []*job.Run
	full := false // if full, first[:n] are sorted, and all others come after them
	cut := func() {
		slices.SortFunc(first, compare)
		first, full = first[:min(n, len(first))], true
	}
	m.eachRun(of, by, func(r *job.Run, whole func() *job.Run) {
		if !accept(r) || full && compare(r, first[n-1]) > 0 {
			return
		}
		if first = append(first, whole()); len(first) == 2*n {
			cut()
		}
	})
	cut()
	return first
}

// FirstDelayed returns the IDs of the first n delayed runs of a job that wait for their time, by due time, and how many there are.
func (m *Mirror) FirstDelayed(of string, n int) (ids []string, all int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, d := range m.delayed[of].Ascending() {
		if len(ids) >= n {
			break
		}
		ids = append(ids, d.ID())
	}
	return ids, m.delayed[of].Len()
}

// JobsOfRuns returns the names of all jobs that have runs, in no order.
func (m *Mirror) JobsOfRuns() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := slices.AppendSeq(make([]string, 0, len(m.runs)), maps.Keys(m.runs))
	for name := range m.delayed {
		if m.runs[name] == nil {
			list = append(list, name)
		}
	}
	return list
}

// eachRun calls see with each run of a job, or of all jobs if of is "". It leaves out delayed runs as Runs does. The next call
// overwrites a run that the mirror keeps as a job.Delayed, so see must not keep r. whole returns the same run, which may be kept.
// The mirror is locked only while the list of runs is made, not while see reads them.
func (m *Mirror) eachRun(of string, by time.Time, see func(r *job.Run, whole func() *job.Run)) {
	present, waiting := m.listRuns(of, by)
	var r *job.Run
	itself := func() *job.Run { return r }
	for _, r = range present {
		see(r, itself)
	}
	var d *job.Delayed
	unpacked, scratch := func() *job.Run { return d.Run() }, new(job.Run)
	for _, d = range waiting {
		d.Read(scratch)
		see(scratch, unpacked)
	}
}

// listRuns returns the runs that eachRun visits.
func (m *Mirror) listRuns(of string, by time.Time) (present []*job.Run, waiting []*job.Delayed) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := 0
	for runs := range ofJob(m.runs, of) {
		n += len(runs)
	}
	present = make([]*job.Run, 0, n)
	for runs := range ofJob(m.runs, of) {
		present = slices.AppendSeq(present, maps.Values(runs))
	}
	for runs := range ofJob(m.delayed, of) {
		if by.Equal(Always) {
			waiting = slices.AppendSeq(slices.Grow(waiting, runs.Len()), runs.All())
			continue
		}
		for due, d := range runs.Ascending() {
			if due > job.Instant(by) {
				break
			}
			waiting = append(waiting, d)
		}
	}
	return present, waiting
}

// ofJob returns the runs of a job, or those of each job if of is "".
func ofJob[T any](runs map[string]T, of string) iter.Seq[T] {
	if of == "" {
		return maps.Values(runs)
	}
	return func(yield func(T) bool) { yield(runs[of]) }
}

// indexRunLocked replaces the record of a run in the indexes of runs by job. A value that is no readable run is in none.
func (m *Mirror) indexRunLocked(name string, old, next any) {
	of, id, err := job.ParseRunName(name)
	if err != nil {
		return
	}
	switch v := old.(type) {
	case *job.Delayed:
		if m.delayed[of].Remove(id); m.delayed[of].Len() == 0 {
			delete(m.delayed, of)
		}
	case *job.Run:
		if v.State.Terminal() {
			delete(m.ended, of)
		}
		if _, stays := next.(*job.Run); stays {
			break
		}
		if delete(m.runs[of], id); len(m.runs[of]) == 0 {
			delete(m.runs, of)
		}
	}
	switch v := next.(type) {
	case *job.Delayed:
		if m.delayed[of] == nil {
			m.delayed[of] = new(delayed.Runs)
		}
		m.delayed[of].Put(v)
	case *job.Run:
		if v.State.Terminal() {
			delete(m.ended, of)
		}
		if m.runs[of] == nil {
			m.runs[of] = make(map[string]*job.Run)
		}
		m.runs[of][id] = v
	}
}
