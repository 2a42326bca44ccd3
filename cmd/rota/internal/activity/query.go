package activity

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Job calls see with the state of a job, which see must not keep. It returns false if the job is unknown.
func (a *Activity) Job(name string, see func(j *Job)) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.defs == nil {
		return false
	}
	def, ok := a.defs.Job(name)
	if ok {
		state := new(Job)
		a.setLocked(state, &entry{def: def})
		see(state)
	}
	return ok
}

// setLocked makes j the state of the job of an entry.
func (a *Activity) setLocked(j *Job, e *entry) {
	j.Job, j.Runs, j.first = e.def, noRuns, &e.first
	if runs := a.runs[e.def.Name]; runs != nil {
		j.Runs = runs
	}
}

// Cursors returns the cursors that accept takes, in no order.
func (a *Activity) Cursors(accept func(*job.Cursor) bool) (list []*job.Cursor) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.runs {
		if r.cursor != nil && accept(r.cursor) {
			list = append(list, r.cursor)
		}
	}
	return list
}

// Defined returns a number that changes with every change of a definition.
func (a *Activity) Defined() int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.defined
}

// eachPart is how many jobs Each visits between two changes.
const eachPart = 1000

// Each calls see with each job in the order of names, until see returns false. see must not keep the state. Changes may take place
// meanwhile, because see may take long, and there may be a million jobs.
func (a *Activity) Each(after string, see func(name string, j *Job) bool) {
	for part := range slices.Chunk(a.behind(after), eachPart) {
		if !a.eachOf(part, see) {
			return
		}
	}
}

// behind returns the jobs whose names come after a name.
func (a *Activity) behind(after string) []entry {
	list := a.sorted()
	a.mu.RLock()
	defer a.mu.RUnlock()
	start, found := find(list, after)
	if found {
		start++
	}
	return list[start:]
}

// eachOf is Each for some jobs. It reports whether see always returned true.
func (a *Activity) eachOf(list []entry, see func(name string, j *Job) bool) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	state := new(Job)
	for i := range list {
		a.setLocked(state, &list[i])
		if !see(state.Job.Name, state) {
			return false
		}
	}
	return true
}

// sorted returns the list of all jobs. Its elements may be read while a.mu is locked.
func (a *Activity) sorted() []entry {
	a.mu.RLock()
	list := a.byName
	a.mu.RUnlock()
	if list != nil {
		return list
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byName != nil || a.defs == nil {
		return a.byName
	}
	defs := a.defs.JobsThat(func(*job.Job) bool { return true })
	a.byName = make([]entry, len(defs))
	for i, def := range defs {
		a.byName[i].def = def
	}
	slices.SortFunc(a.byName, func(x, y entry) int { return strings.Compare(x.def.Name, y.def.Name) })
	return a.byName
}

// find returns the place of a job in a sorted list, and whether it is there.
func find(list []entry, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(e entry, name string) int { return strings.Compare(e.def.Name, name) })
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
	for name, j := range a.runs {
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
