package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestResultsOfJobs(t *testing.T) {
	t.Parallel()
	c := fake(t, nil).Client()
	s, term := open(t, c), reign(t, c, "a")
	m := following(t, s)
	for _, name := range []string{"b", "a", "c"} {
		if _, err := s.PutJob(t.Context(), definition(name)); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(name string, n int, state job.State) job.Decision {
		r := slot(name, n)
		r.State, r.Finished = state, r.Due.Add(time.Second)
		return job.Decision{Job: name, Run: r}
	}
	copied := ended("b", 2, job.Failed)
	copied.Run.Kind = job.KindCopy        // the run of which it is a copy counts
	behind := ended("a", 3, job.TimedOut) // on a worker whose clock is an hour behind
	behind.Run.Armed, behind.Run.Finished = behind.Run.Due, behind.Run.Finished.Add(-time.Hour)
	behind.Run.Attempts = []job.Attempt{{Number: 1, Started: behind.Run.Due.Add(-time.Hour), Finished: behind.Run.Finished, State: job.TimedOut}}
	next := epoch.Add(time.Hour)
	for i, a := range commit(t, s, term,
		ended("a", 1, job.Failed), ended("a", 2, job.Succeeded), behind, ended("a", 4, job.Lost),
		ended("a", 5, job.Skipped), job.Decision{Job: "a", Run: slot("a", 6)}, ended("b", 1, job.Failed), copied,
		job.Decision{Job: "a", Cursor: &job.Cursor{Job: "a", After: epoch, Next: next}},
	) {
		if a.Err != nil {
			t.Fatalf("decision %d: %v", i, a.Err)
		}
	}
	catchUp(t, s, m)
	want := []JobResult{
		{Job: "a", Success: slot("a", 2).Due.Add(time.Second), Failures: 2, Next: next},
		{Job: "b", Failures: 1},
	}
	if list, left := m.Results(2); left != 1 || !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, %d left out; want %+v and 1", list, left, want)
	}

	r := *slot("a", 6)
	r.Rev = mustRun(t, m, r.Name()).Rev
	r.State, r.Finished = job.Succeeded, r.Due.Add(time.Minute) // a run that waited has ended
	if a := commit(t, s, term, job.Decision{Job: "a", Run: &r}); a[0].Err != nil {
		t.Fatal(a[0].Err)
	}
	catchUp(t, s, m)
	want[0].Success, want[0].Failures = r.Finished, 0
	if list, _ := m.Results(1); !reflect.DeepEqual(list, want[:1]) {
		t.Errorf("after a success: %+v, want %+v", list, want[:1])
	}
	if _, err := s.PutGate(t.Context(), job.Gate{Paused: &job.Pause{By: "me", At: epoch}}); err != nil {
		t.Fatal(err)
	}
	catchUp(t, s, m)
	want[0].Next = time.Time{}
	if list, _ := m.Results(1); !reflect.DeepEqual(list, want[:1]) {
		t.Errorf("while all jobs pause: %+v, want %+v", list, want[:1])
	}

	// A run that goes on, and a run that is removed, no longer count.
	again := *mustRun(t, m, r.Name())
	again.State, again.Finished = job.Pending, time.Time{}
	removed := mustRun(t, m, slot("a", 3).Name())
	for _, d := range []job.Decision{{Job: "a", Run: &again}, {Job: "a", Deletions: []*job.Run{removed}}} {
		if a := commit(t, s, term, d); a[0].Err != nil {
			t.Fatal(a[0].Err)
		}
	}
	catchUp(t, s, m)
	want[0].Success, want[0].Failures = slot("a", 2).Due.Add(time.Second), 1
	if list, _ := m.Results(1); !reflect.DeepEqual(list, want[:1]) {
		t.Errorf("after a retry and a removal: %+v, want %+v", list, want[:1])
	}
}

func mustRun(t *testing.T, m *Mirror, name string) *job.Run {
	t.Helper()
	r, ok := m.Run(name)
	if !ok {
		t.Fatalf("there is no run %s", name)
	}
	return r
}
