package activity

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Feed delivers the changes of the store.
type Feed interface {
	Ready() <-chan struct{}
	Take() []job.Change
}

// Definitions has the definition of each job. It has every change that the Feed has delivered, and maybe later ones.
type Definitions interface {
	Job(name string) (*job.Job, bool)
	JobsThat(accept func(*job.Job) bool) []*job.Job // in no order
}

const (
	minutesKept = 24 * 60 // one bucket for each minute of a day
	endedKept   = 100     // ended runs that Ended returns
	namesKept   = 4096    // changed jobs that Changed remembers, at least
)

// Activity is the summary. Its methods may be called by several goroutines.
type Activity struct {
	mu      sync.RWMutex
	defs    Definitions         // guarded by mu; nil before Run
	runs    map[string]*Runs    // guarded by mu, by job; absent for a job without runs and without a cursor: a million may have none
	byName  []entry             // guarded by mu: all jobs, sorted; nil until a reader needs it, and after a job was added or removed
	active  map[string]*job.Run // guarded by mu: runs that have not ended, by name; without those in Runs.delayed
	minutes [minutesKept]Minute // guarded by mu: the minute m is at m modulo minutesKept
	ended   []*job.Run          // guarded by mu: the latest ended runs; the latest is last
	changed []changed           // guarded by mu: ascending revisions
	dropped int64               // guarded by mu: changed lacks the changes up to this revision
	rev     int64               // guarded by mu
	defined int64               // guarded by mu: how many changes of definitions were applied
	moved   chan struct{}       // guarded by mu: closed and replaced when rev rises
}

// changed is a revision, and the job to which its record belongs; "" for a record of no job.
type changed struct {
	rev int64
	job string
}

// Minute counts the runs that ended in one minute.
type Minute struct {
	At    time.Time
	Count map[job.State]int
	Late  int
}

// New returns an empty summary.
func New() *Activity {
	return &Activity{runs: map[string]*Runs{}, active: map[string]*job.Run{}, moved: make(chan struct{})}
}

// Run follows a feed until ctx ends.
func (a *Activity) Run(ctx context.Context, feed Feed, defs Definitions) error {
	a.read(defs)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-feed.Ready():
			a.Apply(feed.Take())
		}
	}
}

func (a *Activity) read(defs Definitions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.defs = defs
}

// Apply takes changes over. A long list is applied in parts, so that readers do not wait for all of it.
func (a *Activity) Apply(list []job.Change) {
	for part := range slices.Chunk(list, 1000) {
		a.apply(part)
	}
}

func (a *Activity) apply(list []job.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range list {
		owner := ""
		switch c.Kind {
		case job.RecordJob:
			owner = c.Name
			a.setJobLocked(c)
		case job.RecordRun:
			var id string
			owner, id, _ = job.ParseRunName(c.Name)
			a.setRunLocked(owner, id, c)
		case job.RecordCursor:
			a.setCursorLocked(c)
			continue // the next slot of a job changes together with a run
		}
		a.rev = max(a.rev, c.Rev)
		a.changed = append(a.changed, changed{c.Rev, owner})
	}
	if extra := len(a.changed) - namesKept; extra > namesKept { // not earlier, since each time copies the rest
		a.dropped = a.changed[extra-1].rev
		a.changed = slices.Delete(a.changed, 0, extra)
	}
	close(a.moved)
	a.moved = make(chan struct{})
}

// runsLocked returns the state of the runs of a job, and adds it if it is missing.
func (a *Activity) runsLocked(name string) *Runs {
	r := a.runs[name]
	if r == nil {
		r = new(Runs)
		a.runs[name] = r
	}
	return r
}

func (a *Activity) setJobLocked(c job.Change) {
	definition := job.ValueOf[job.Job](c)
	a.defined++
	if i, known := find(a.byName, c.Name); known && definition != nil {
		a.byName[i] = entry{def: definition}
	} else if known || definition != nil {
		a.byName = nil
	}
	if r := a.runs[c.Name]; definition == nil && r != nil && r.Active == 0 {
		delete(a.runs, c.Name)
	}
}

func (a *Activity) setCursorLocked(c job.Change) {
	cursor := job.ValueOf[job.Cursor](c)
	if cursor == nil && a.runs[c.Name] == nil {
		return
	}
	a.runsLocked(c.Name).cursor = cursor
}

func (a *Activity) setRunLocked(owner, id string, c job.Change) {
	j := a.runsLocked(owner)
	if j.delayed.Get(id) != nil {
		j.delayed.Remove(id)
		j.Active--
	}
	if old := a.active[c.Name]; old != nil {
		delete(a.active, c.Name)
		j.Active--
		if old.State == job.Running {
			j.Busy--
		}
		delete(j.pending, c.Name)
	}
	if d, ok := c.Value.(*job.Delayed); ok {
		if j.delayed == nil {
			j.delayed = new(delayed.Runs)
		}
		j.delayed.Put(d)
		j.Active++
		return
	}
	switch r := job.ValueOf[job.Run](c); {
	case r == nil:
		if _, known := a.defs.Job(owner); !known && j.Active == 0 {
			delete(a.runs, owner)
		}
	case !r.State.Terminal():
		a.active[c.Name] = r
		j.Active++
		switch {
		case r.State == job.Running:
			j.Busy++
		case j.pending == nil:
			j.pending = map[string]*job.Run{c.Name: r}
		default:
			j.pending[c.Name] = r
		}
	default:
		a.endLocked(j, r)
	}
}

// endLocked counts a run that has ended.
func (a *Activity) endLocked(j *Runs, r *job.Run) {
	end := r.Ended()
	if at := end.Truncate(time.Minute); !at.IsZero() {
		m := &a.minutes[(at.Unix()/60)%minutesKept]
		switch {
		case m.At.Before(at):
			*m = Minute{At: at, Count: map[job.State]int{}}
		case m.At.After(at):
			m = &Minute{Count: map[job.State]int{}} // older than a day
		}
		m.Count[r.State]++
		if r.Late {
			m.Late++
		}
	}
	i, _ := slices.BinarySearchFunc(a.ended, end, func(e *job.Run, at time.Time) int { return e.Ended().Compare(at) })
	a.ended = slices.Insert(a.ended, i, r)
	if extra := len(a.ended) - endedKept; extra > 0 {
		a.ended = slices.Delete(a.ended, 0, extra)
	}
	if r.Kind == job.KindCopy || j.Last != nil && end.Before(j.Last.Ended()) { // the run counts for all its copies
		return
	}
	switch {
	case r.State == job.Succeeded:
		j.Failed, j.Since = 0, time.Time{}
	case r.State.IsFailure():
		if j.Failed == 0 {
			j.Since = end
		}
		j.Failed++
	case j.Failed > 0: // skipped or canceled: the last outcome stays visible
		return
	}
	j.Last = r
}
