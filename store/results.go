package store

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// JobResult summarizes the runs of a job that history has, and its schedule.
type JobResult struct {
	Job      string
	Success  time.Time // when the latest successful run ended; zero: history has none
	Failures int       // runs that failed, timed out or were lost, and ended after Success
	Next     time.Time // the first slot that is not decided; zero: there is none, or the job is paused
}

// Results returns the results of the first most jobs by name, and the number of jobs that are left out. It holds the
// lock of the mirror only for one job at a time.
func (m *Mirror) Results(most int) (list []JobResult, left int) {
	m.mu.RLock()
	names := make([]string, 0, len(m.records[KindJobs]))
	for name := range m.records[KindJobs] {
		names = append(names, name)
	}
	m.mu.RUnlock()
	slices.Sort(names)
	if left = max(0, len(names)-most); left > 0 {
		names = names[:most]
	}
	paused := m.Gate().Paused != nil
	for _, name := range names {
		if r, ok := m.result(name, paused); ok {
			list = append(list, r)
		}
	}
	return list, left
}

// ended summarizes the runs of a job that have ended.
type ended struct {
	success  time.Time
	failures int // after success
}

// result returns the result of one job; false if it does not exist. paused says that all jobs are paused.
func (m *Mirror) result(name string, paused bool) (r JobResult, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record, ok := m.records[KindJobs][name]
	if !ok {
		return r, false
	}
	r.Job = name
	if j, readable := record.value.(*job.Job); readable && j.Paused == nil && !paused {
		if c, known := m.records[KindCursors][name].value.(*job.Cursor); known {
			r.Next = c.Next
		}
	}
	sum, known := m.ended[name]
	if !known {
		sum = m.endedLocked(name)
		m.ended[name] = sum
	}
	r.Success, r.Failures = sum.success, sum.failures
	return r, true
}

// endedLocked reads the runs of a job that have ended. There may be thousands.
func (m *Mirror) endedLocked(name string) (sum ended) {
	var failed []time.Time
	for _, run := range m.runs[name] {
		switch {
		case !run.State.Terminal(), run.Kind == job.KindCopy: // the run on every worker counts for its copies
		case run.State == job.Succeeded:
			sum.success = job.Later(sum.success, run.Ended())
		case run.State.IsFailure():
			failed = append(failed, run.Ended())
		}
	}
	for _, at := range failed {
		if at.After(sum.success) {
			sum.failures++
		}
	}
	return sum
}
