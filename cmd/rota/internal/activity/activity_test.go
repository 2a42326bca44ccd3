package activity

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var now = time.Date(2026, 11, 24, 10, 0, 30, 0, time.UTC)

func run(rev int64, name, id string, state job.State, finished time.Time) job.Change {
	r := &job.Run{Job: name, ID: id, State: state, Slot: finished, Due: finished, Finished: finished}
	return job.Change{Kind: job.RecordRun, Name: name + "/" + id, Rev: rev, Value: r}
}

func definition(rev int64, name string) job.Change {
	return job.Change{Kind: job.RecordJob, Name: name, Rev: rev, Value: &job.Job{Name: name, Spec: &job.Spec{}}}
}

// summary is an Activity with the definitions of its changes.
type summary struct {
	*Activity

	defs map[string]*job.Job
}

func newActivity() summary {
	s := summary{New(), map[string]*job.Job{}}
	s.read(s)
	return s
}

// apply applies changes. As in a mirror, the definitions are there first.
func (s summary) apply(list []job.Change) {
	for _, c := range list {
		switch j := job.ValueOf[job.Job](c); {
		case j != nil:
			s.defs[c.Name] = j
		case c.Kind == job.RecordJob:
			delete(s.defs, c.Name)
		}
	}
	s.Apply(list)
}

// Job implements Definitions. The test reads states by stateOf.
func (s summary) Job(name string) (*job.Job, bool) {
	j, ok := s.defs[name]
	return j, ok
}

func (s summary) JobsThat(accept func(*job.Job) bool) (list []*job.Job) {
	for _, j := range s.defs {
		if accept(j) {
			list = append(list, j)
		}
	}
	return list
}

// names returns the names of all jobs, in the order of Each.
func names(a summary) (list []string) {
	a.Each("", func(name string, _ *Job) bool {
		list = append(list, name)
		return true
	})
	return list
}

func TestCountsFailuresInARow(t *testing.T) {
	a := newActivity()
	a.apply([]job.Change{
		definition(1, "backup"),
		run(2, "backup", "1", job.Failed, now.Add(-3*time.Minute)),
		run(3, "backup", "2", job.Skipped, now.Add(-2*time.Minute)),
		run(4, "backup", "3", job.TimedOut, now.Add(-time.Minute)),
	})
	j := stateOf(t, a, "backup")
	if j.Failed != 2 || !j.Since.Equal(now.Add(-3*time.Minute)) || j.Last.ID != "3" {
		t.Errorf("got %d failures since %v, last %s, want 2 since the first, last 3", j.Failed, j.Since, j.Last.ID)
	}
	a.apply([]job.Change{run(5, "backup", "4", job.Succeeded, now)})
	if j := stateOf(t, a, "backup"); j.Failed != 0 {
		t.Errorf("after a success: got %d failures in a row, want 0", j.Failed)
	}
}

func TestCountsMinutes(t *testing.T) {
	a := newActivity()
	late := run(3, "backup", "3", job.Succeeded, now)
	late.Value.(*job.Run).Late = true
	a.apply([]job.Change{
		run(1, "backup", "1", job.Succeeded, now.Add(-25*time.Hour)), // older than the counts
		run(2, "backup", "2", job.Failed, now.Add(-time.Minute)),
		late,
	})
	list := a.Minutes(now, 3)
	got := fmt.Sprint(list[0].Count, list[1].Count, list[2].Count, list[2].Late)
	if want := "map[] map[failed:1] map[succeeded:1] 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := len(a.Ended(10, func(*job.Run) bool { return true })); n != 3 {
		t.Errorf("ended runs: got %d, want 3", n)
	}
}

func TestFollowsActiveRuns(t *testing.T) {
	a := newActivity()
	a.apply([]job.Change{definition(1, "backup"), run(2, "backup", "1", job.Pending, now)})
	j := stateOf(t, a, "backup")
	if !j.Waits(now) || j.Waits(now.Add(-time.Second)) {
		t.Error("a pending run must wait from its time on")
	}
	a.apply([]job.Change{run(3, "backup", "1", job.Running, time.Time{})})
	if j := stateOf(t, a, "backup"); j.Busy != 1 || j.Active != 1 || j.Waits(now) {
		t.Errorf("running: got busy %d, active %d, waits %v, want 1, 1, false", j.Busy, j.Active, j.Waits(now))
	}
	a.apply([]job.Change{{Kind: job.RecordRun, Name: "backup/1", Rev: 4}, {Kind: job.RecordJob, Name: "backup", Rev: 5}})
	if names := names(a); a.Activity.Job("backup", func(*Job) {}) || len(names) != 0 || len(a.runs) != 0 {
		t.Errorf("after the deletion: got %v and %d states, want nothing", names, len(a.runs))
	}
}

// TestNextOfANewJob proves that a job has a next slot before the leader has decided one, and again when its cursor is gone.
func TestNextOfANewJob(t *testing.T) {
	a := newActivity()
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	next := func(want time.Time) {
		t.Helper()
		if j := stateOf(t, a, "backup"); !j.Next().Equal(want) {
			t.Errorf("next slot: got %v, want %v", j.Next(), want)
		}
		a.Each("", func(name string, j *Job) bool {
			if first, again := j.Next(), j.Next(); !first.Equal(want) || !again.Equal(want) {
				t.Errorf("next slot in the list: got %v, want %v", j.Next(), want)
			}
			return true
		})
	}
	define := func(rev int64, schedule ...string) job.Change {
		return job.Change{Kind: job.RecordJob, Name: "backup", Rev: rev, Value: &job.Job{
			Name: "backup", Since: now, Spec: &job.Spec{Schedule: schedule, Timezone: "UTC"},
		}}
	}
	a.apply([]job.Change{define(1, "0 12 * * *")})
	next(noon)
	a.apply([]job.Change{{Kind: job.RecordCursor, Name: "backup", Rev: 2, Value: &job.Cursor{Job: "backup", Next: noon.Add(24 * time.Hour)}}})
	next(noon.Add(24 * time.Hour))
	a.apply([]job.Change{define(3, "0 12 * * *")})
	next(noon.Add(24 * time.Hour))
	a.apply([]job.Change{{Kind: job.RecordCursor, Name: "backup", Rev: 4}})
	next(noon)
	a.apply([]job.Change{define(5)})
	next(time.Time{})
}

func TestSaysWhatHasChanged(t *testing.T) {
	a := newActivity()
	a.apply([]job.Change{definition(1, "a"), definition(2, "b"), definition(3, "b")})
	rev, jobs, complete, _ := a.Changed(1)
	if rev != 3 || !complete || !cmp.Equal(jobs, []string{"b"}) {
		t.Errorf("got %d %v %v, want 3 [b] true", rev, jobs, complete)
	}
	var many []job.Change
	for i := range 2 * namesKept {
		many = append(many, definition(int64(4+i), "c"))
	}
	a.apply(many)
	if _, _, complete, _ := a.Changed(1); complete {
		t.Error("changes are forgotten, but Changed says that it knows all of them")
	}
	if _, _, complete, _ := a.Changed(rev + namesKept); !complete {
		t.Error("the latest changes are kept, but Changed says that it lacks some")
	}
}

func TestFollowsDelayedRuns(t *testing.T) {
	r := job.Run{
		Job: "invoice", ID: "1", Kind: job.KindDelayed, State: job.Pending, Reason: job.ReasonNotYet, Slot: now, Due: now.Add(time.Hour),
		Created: now,
	}
	waits := job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: 2, Value: r.Delay()}
	a := newActivity()
	a.apply([]job.Change{definition(1, "invoice"), waits})
	expect := func(claim string, at time.Time, active, later int, waits bool) {
		t.Helper()
		seen, counted := 0, 0
		a.Active(at, func(*job.Run) { seen++ }, func(_ string, n int) { counted += n })
		j := stateOf(t, a, "invoice")
		if seen+counted != active || j.Active != active || counted != later || j.Waits(at) != waits {
			t.Errorf("%s: got %d active runs, %d of the job, %d later, waits %v; want %d, %d, %v",
				claim, seen+counted, j.Active, counted, j.Waits(at), active, later, waits)
		}
	}
	expect("before its time", now, 1, 1, false)
	expect("at its time", r.Due, 1, 0, true)
	waits.Rev = 3
	a.apply([]job.Change{waits})
	expect("after the same record came again", now, 1, 1, false)
	a.apply([]job.Change{run(4, "invoice", "1", job.Running, time.Time{})})
	expect("while it runs", r.Due, 1, 0, false)
	a.apply([]job.Change{run(5, "invoice", "1", job.Succeeded, now)})
	expect("after its end", now, 0, 0, false)
}

// stateOf returns the state of a job. The test changes nothing while it reads it.
func stateOf(t *testing.T, a summary, name string) *Job {
	t.Helper()
	state := new(Job)
	if !a.Activity.Job(name, func(j *Job) { state = j }) {
		t.Errorf("job %s is unknown", name)
	}
	return state
}

// TestListsJobsInOrder adds, changes and removes jobs while readers know the list of all jobs.
func TestListsJobsInOrder(t *testing.T) {
	a := newActivity()
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, names(a)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	}
	a.apply([]job.Change{definition(1, "c"), definition(2, "a")})
	expect("a", "c")
	a.apply([]job.Change{definition(3, "b")})
	expect("a", "b", "c")
	changed := definition(4, "b")
	a.apply([]job.Change{changed})
	a.Each("a", func(_ string, j *Job) bool {
		if j.Job != changed.Value {
			t.Error("a changed definition is not in the list")
		}
		return false
	})
	a.apply([]job.Change{{Kind: job.RecordJob, Name: "a", Rev: 5}})
	expect("b", "c")
}

// TestIdleJobMemory bounds the memory of a job without runs, without its definition. Before a reader needs the list of all jobs,
// only the latest changes take memory.
func TestIdleJobMemory(t *testing.T) {
	const jobs, unread, read = 100_000, 4, 20 // bytes for each job
	a := newActivity()
	list := make([]job.Change, jobs)
	for i := range list {
		list[i] = definition(int64(i+1), fmt.Sprint("job-", i))
		a.defs[list[i].Name] = list[i].Value.(*job.Job)
	}
	before := live()
	a.Apply(list)
	if got := (live() - before) / jobs; got > unread {
		t.Errorf("before a reader needs it: a job takes %d bytes, want at most %d", got, unread)
	}
	a.Each("", func(string, *Job) bool { return true })
	if got := (live() - before) / jobs; got > read {
		t.Errorf("after that: a job takes %d bytes, want at most %d", got, read)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(list)
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
