package attention_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var now = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// run is a run that is due, and ended, so many minutes before now.
func run(ago int, state job.State, change func(*job.Run)) *job.Run {
	at := now.Add(-time.Duration(ago) * time.Minute)
	r := &job.Run{Job: "j", ID: job.SlotID(at), Slot: at, Due: at, State: state}
	if state.Terminal() {
		r.Finished = at
	}
	if change != nil {
		change(r)
	}
	return r
}

func because(reason string) func(*job.Run) { return func(r *job.Run) { r.Reason = reason } }

// ofJobs checks that the jobs that Concerns refuses change nothing.
func ofJobs(t *testing.T, f attention.Facts) []attention.Item {
	t.Helper()
	items, concerns := attention.OfJobs(f), f.Concerns()
	f.Jobs = slices.DeleteFunc(slices.Clone(f.Jobs), func(j *job.Job) bool { return !concerns(j) })
	if diff := cmp.Diff(items, attention.OfJobs(f)); diff != "" {
		t.Errorf("only the jobs that Concerns accepts (-want +got):\n%s", diff)
	}
	return items
}

// TestFewJobsConcern proves that a job with nothing to report is not read, and costs no allocation.
func TestFewJobsConcern(t *testing.T) {
	spec := &job.Spec{Handler: "h", Workers: map[string]string{"zone": "a"}}
	f := attention.Facts{
		Workers: []*job.Worker{{Name: "w1", Labels: spec.Workers, Handlers: []string{"h"}}},
		Runs:    []*job.Run{run(1, job.Succeeded, nil)}, Now: now,
	}
	concerns, plain := f.Concerns(), &job.Job{Name: "plain", Spec: spec}
	if !concerns(&job.Job{Name: "j", Spec: spec}) || !concerns(&job.Job{Name: "k", Spec: &job.Spec{Handler: "other"}}) {
		t.Error("a job with runs, or without a worker, must be read")
	}
	if n := testing.AllocsPerRun(100, func() {
		if concerns(plain) {
			t.Error("a job with nothing to report is read")
		}
	}); n != 0 {
		t.Errorf("got %v allocations for each job, want none", n)
	}
}

func TestOfJobs(t *testing.T) {
	worker := []*job.Worker{{Name: "w1", Labels: map[string]string{"zone": "a"}}}
	for name, tc := range map[string]struct {
		job  func(*job.Job)
		runs []*job.Run
		want string // the kinds
		text string // part of the first item
	}{
		"nothing":            {runs: []*job.Run{run(1, job.Succeeded, nil)}},
		"failed and went on": {runs: []*job.Run{run(2, job.Failed, nil), run(1, job.Succeeded, nil)}},
		"fails": {
			runs: []*job.Run{run(3, job.Succeeded, nil), run(2, job.TimedOut, nil), run(1, job.Failed, because("exit code 3"))},
			want: "failing", text: "Job j fails: 2 runs in a row without success, the last one with: exit code 3.",
		},
		"fails once": {
			runs: []*job.Run{run(1, job.Failed, because("exit code 3"))},
			want: "failing", text: "Job j fails: its last run failed: exit code 3.",
		},
		"skipped runs do not hide a failure": {
			runs: []*job.Run{run(2, job.Failed, nil), run(1, job.Skipped, nil)}, want: "failing",
		},
		"lost": {runs: []*job.Run{run(1, job.Lost, nil)}, want: "lost", text: "is lost: check at its target"},
		"lost and repeated": {runs: []*job.Run{run(2, job.Lost, nil), run(1, job.Running, func(r *job.Run) {
			r.RetryOf = run(2, job.Lost, nil).Name()
		})}},
		"lost and later well": {runs: []*job.Run{run(2, job.Lost, nil), run(1, job.Succeeded, nil)}},
		"late": {
			runs: []*job.Run{run(2, job.Pending, because("no worker has room")), run(1, job.Pending, nil)},
			want: "late", text: "2 runs of job j are late, the oldest is j/2026-11-24T09:58:00Z: no worker has room.",
		},
		"a breaker is open": {
			runs: []*job.Run{run(1, job.Pending, because("breaker open until 2026-11-24T10:01:00Z: 2 of the latest attempts failed"))},
			want: "breaker",
		},
		"of two runs at a breaker, the older one has the present reason": {
			runs: []*job.Run{
				run(2, job.Pending, because("breaker open until 2026-11-24T10:00:30Z: 4 of the latest attempts failed")),
				run(1, job.Pending, because("breaker open until 2026-11-24T09:59:30Z: 2 of the latest attempts failed")),
			},
			want: "breaker", text: "Job j waits: breaker open until 2026-11-24T10:00:30Z: 4 of the latest attempts failed.",
		},
		"a run waits for a person": {
			runs: []*job.Run{
				new(run(2, job.Pending, nil).Ask(&job.Approve{By: []string{"sre"}, Within: job.Duration(time.Hour)}, now.Add(-time.Minute))),
			},
			want: "approval", text: "Run j/2026-11-24T09:58:00Z waits for approval by sre until 2026-11-24T10:59:00Z.",
		},
		"a run that no worker accepts": {
			runs: []*job.Run{run(1, job.Pending, because("no worker accepts it: none is present with its labels or handler"))},
			want: "no_worker",
		},
		"a run that no worker with its labels accepts": {
			job:  func(j *job.Job) { j.Spec.Workers = map[string]string{"zone": "mars"} },
			runs: []*job.Run{run(1, job.Pending, because("no worker accepts it: none is present"))},
			want: "no_worker",
			text: "Run j/2026-11-24T09:59:00Z cannot start: no worker accepts it: none is present; the job needs label zone: mars.",
		},
		"a job that no worker accepts": {
			job:  func(j *job.Job) { j.Spec.Workers = map[string]string{"zone": "mars"} },
			want: "no_worker", text: "No worker that is present accepts job j, which needs label zone: mars.",
		},
		"paused": {
			job:  func(j *job.Job) { j.Paused = &job.Pause{At: now, By: "alice", Reason: "migration"} },
			runs: []*job.Run{run(5, job.Pending, nil)},
			want: "paused", text: "Job j is paused by alice: migration.",
		},
	} {
		j := &job.Job{Name: "j", Spec: &job.Spec{Command: []string{"true"}}}
		if tc.job != nil {
			tc.job(j)
		}
		items := ofJobs(t, attention.Facts{Jobs: []*job.Job{j}, Workers: worker, Runs: tc.runs, Now: now})
		var kinds []string
		for _, i := range items {
			kinds = append(kinds, i.Kind)
			if i.Next == "" || i.Text == "" {
				t.Errorf("%s: an item without text or next command: %+v", name, i)
			}
		}
		if got := strings.Join(kinds, " "); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
			continue
		}
		if len(items) > 0 && !strings.Contains(items[0].Text, tc.text) {
			t.Errorf("%s: got %q, want %q", name, items[0].Text, tc.text)
		}
	}
}

// TestWithoutWorkers proves that a cluster without workers needs attention once, however many jobs wait.
func TestWithoutWorkers(t *testing.T) {
	wait := because("no worker accepts it: none is present with its labels or handler")
	spec := &job.Spec{Command: []string{"true"}}
	items := ofJobs(t, attention.Facts{
		Jobs: []*job.Job{{Name: "j", Spec: spec}, {Name: "k", Spec: spec}, {Name: "l", Spec: spec}},
		Runs: []*job.Run{run(1, job.Pending, wait), run(3, job.Pending, func(r *job.Run) { wait(r); r.Job = "k" })}, Now: now,
	})
	if len(items) != 1 || items[0].Text != "No worker is present: runs of 2 jobs wait." || !items[0].Since.Equal(now.Add(-3*time.Minute)) {
		t.Errorf("got %+v, want one item about two jobs", items)
	}
}

func TestTheMostUrgentComesFirst(t *testing.T) {
	items := []attention.Item{{Kind: attention.Paused, Job: "a"}, {Kind: attention.Lost, Job: "b"}, {Kind: attention.NoLeader}, {Kind: attention.Lost, Job: "a"}}
	attention.Sort(items)
	var got []string
	for _, i := range items {
		got = append(got, i.Kind+i.Job)
	}
	if text := strings.Join(got, " "); text != "no_leader losta lostb pauseda" {
		t.Errorf("got %s", text)
	}
}
