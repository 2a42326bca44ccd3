package activity

import (
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Job calls see with the state of a job, which see must not keep. It returns false if the job is unknown.
func (a *Activity) Job(name string, see func(j *Job)) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	j := a.jobs[name]
	if j == nil || j.Job == nil {
		return false
	}
	see(j)
	return true
}

// Defined returns a number that changes with every change of a definition.
func (a *Activity) Defined() int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.defined
}

// Each calls see with each job in the order of names, until see returns false.
func (a *Activity) Each(after string, see func(name string, j *Job) bool) {
	names := a.Names()
	start, found := slices.BinarySearch(names, after)
	if found {
		start++
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, name := range names[start:] {
		if j := a.jobs[name]; j != nil && j.Job != nil && !see(name, j) {
			return
		}
	}
}

// Active calls see with each run that has not ended, in no order. The next call may overwrite a delayed run that has not begun, so
// see must not keep it. Active reads no delayed runs that wait for a time after now: it calls later with their number in each job.
func (a *Activity) Active(now time.Time, see func(*job.Run), later func(job string, n int)) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.active {
		see(r)
	}
	scratch := new(job.Run)
	for name, j := range a.jobs {
		n := j.delayed.Len()
		for at, d := range j.delayed.Ascending() {
			if at > job.Instant(now) {
				break
			}
			n--
			d.Read(scratch)
			see(scratch)
		}
		if n > 0 {
			later(name, n)
		}
	}
}

// Ended returns at most n of the runs that ended last and that accept accepts, the latest first.
func (a *Activity) Ended(n int, accept func(*job.Run) bool) (list []*job.Run) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range slices.Backward(a.ended) {
		if len(list) == n {
			break
		}
		if accept(r) {
			list = append(list, r)
		}
	}
	return list
}

// Minutes returns the counts of the n minutes that end with the minute of now, the oldest first. n is at most a day.
func (a *Activity) Minutes(now time.Time, n int) []Minute {
	a.mu.RLock()
	defer a.mu.RUnlock()
	list := make([]Minute, n)
	end := now.Truncate(time.Minute)
	for i := range list {
		at := end.Add(time.Duration(i-n+1) * time.Minute)
		list[i] = Minute{At: at, Count: map[job.State]int{}}
		if m := &a.minutes[(at.Unix()/60)%minutesKept]; m.At.Equal(at) {
			list[i].Late = m.Late
			maps.Copy(list[i].Count, m.Count)
		}
	}
	return list
}

// Changed returns the jobs with a change after a revision, and the revision up to which that is. complete is false if older
// changes are forgotten. Then any job may have changed. moved is closed at the next change.
func (a *Activity) Changed(after int64) (rev int64, jobs []string, complete bool, moved <-chan struct{}) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	seen := map[string]bool{}
	for _, c := range slices.Backward(a.changed) {
		if c.rev <= after {
			break
		}
		if !seen[c.job] {
			seen[c.job] = true
			jobs = append(jobs, c.job)
		}
	}
	return a.rev, jobs, after >= a.dropped, a.moved
}
