package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The functions accept of these methods must neither keep the run that they get nor use the mirror. The runs that the methods
// return are shared, and callers must not change them.

// Run returns a run by name. A terminal run comes without output, payload and spec.
func (m *Mirror) Run(name string) (*job.Run, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := job.ValueOf[job.Run](m.records[KindRuns][name].change(KindRuns, name))
	return r, r != nil
}

// Runs returns the runs of a job that accept accepts, the newest slot first. accept nil accepts all runs. A job may have a million
// runs that wait for their time: to make a list of all takes a gibibyte.
func (m *Mirror) Runs(of string, accept func(*job.Run) bool) []*job.Run {
	runs := m.collectRuns(of, noBound, accept)
	slices.SortFunc(runs, newestSlot)
	return runs
}

func newestSlot(a, b *job.Run) int {
	return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(a.ID, b.ID))
}

// RunsThat returns the runs of all jobs that accept takes, in no order. To sort all runs would take longer than the rest of a
// request.
func (m *Mirror) RunsThat(accept func(*job.Run) bool) []*job.Run {
	return m.collectRuns("", noBound, accept)
}

// RunsDue is RunsThat without the delayed runs that wait for a time after by. With the zero time, these are all delayed runs that
// have not begun. A million may wait, and RunsDue reads none of them.
func (m *Mirror) RunsDue(by time.Time, accept func(*job.Run) bool) []*job.Run {
	return m.collectRuns("", by, accept)
}

// noBound is later than every due time.
var noBound = time.Unix(math.MaxInt64-(1<<40), 0)

func (m *Mirror) collectRuns(of string, by time.Time, accept func(*job.Run) bool) (runs []*job.Run) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.eachRunLocked(of, by, func(r *job.Run, whole func() *job.Run) {
		if accept == nil || accept(r) {
			runs = append(runs, whole())
		}
	})
	return runs
}

// FirstRuns returns the first n of the runs of a job that accept accepts, in the order of compare. If of is "", they are those of
// all jobs. It keeps at most twice as many in memory, however many there are.
func (m *Mirror) FirstRuns(of string, n int, compare func(a, b *job.Run) int, accept func(*job.Run) bool) []*job.Run {
	var first []*job.Run
	full := false // if full, first[:n] are sorted, and all others come after them
	cut := func() {
		slices.SortFunc(first, compare)
		first, full = first[:min(n, len(first))], true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.eachRunLocked(of, noBound, func(r *job.Run, whole func() *job.Run) {
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

// JobsOfRuns returns the names of all jobs that have runs, in no order.
func (m *Mirror) JobsOfRuns() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]string, 0, len(m.runs))
	for name := range m.runs {
		list = append(list, name)
	}
	return list
}

// eachRunLocked calls see with each run of a job, or of all jobs if of is "". It leaves out those of RunsDue. The next call
// overwrites a run that the mirror keeps as a job.Delayed, so see must not keep r. whole returns the same run, which may be kept.
func (m *Mirror) eachRunLocked(of string, by time.Time, see func(r *job.Run, whole func() *job.Run)) {
	var present *job.Run
	var packed *job.Delayed
	scratch := new(job.Run)
	whole := func() *job.Run {
		if packed != nil {
			return packed.Run()
		}
		return present
	}
	visit := func(value any) {
		switch v := value.(type) {
		case *job.Run:
			present, packed = v, nil
		case *job.Delayed:
			if v.Due().After(by) {
				return
			}
			v.Read(scratch)
			present, packed = scratch, v
		default:
			return
		}
		see(present, whole)
	}
	if of == "" {
		for _, r := range m.records[KindRuns] {
			visit(r.value)
		}
		return
	}
	name := append([]byte(of), '/')
	for id := range m.runs[of] {
		name = append(name[:len(of)+1], id...)
		visit(m.records[KindRuns][string(name)].value) // no garbage: the compiler makes no string for a look-up
	}
}
