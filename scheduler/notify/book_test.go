package notify_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

var (
	epoch = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	later = epoch.Add(time.Hour)
)

// defined is a job whose notifier ops wants the given occasions, each time. If none are given, it wants all.
func defined(when ...job.Occasion) *job.Job {
	return definedWith(job.Notifier{URL: "ntfy://x/y", When: when, Repeat: 1})
}

// definedWith is a job with the notifier ops.
func definedWith(ops job.Notifier) *job.Job {
	spec := job.Spec{Shell: "true", Notify: job.Notify{"ops": ops}}
	j, _ := job.Define(nil, "a", spec, job.Origin{Kind: job.OriginAPI}, epoch)
	j.Rev = 5
	return &j
}

// ended is a run of job a that ended at revision rev. No two runs end at the same time.
func ended(id string, state job.State, rev int64) *job.Run {
	n, _ := strconv.Atoi(id)
	at := later.Add(time.Duration(rev)*time.Second + time.Duration(n)*time.Millisecond)
	return &job.Run{Job: "a", ID: id, State: state, Finished: at, Rev: rev, Attempt: 1}
}

// gaveUp adds attempts with these numbers to r. The leader has given them up.
func gaveUp(r *job.Run, numbers ...int) *job.Run {
	for _, n := range numbers {
		r.Attempts = append(r.Attempts, job.Attempt{Number: n, Worker: "w1", State: job.Lost, Finished: later.Add(time.Duration(n) * time.Minute), Reason: "worker w1 was lost", GivenUp: true})
	}
	return r
}

func change(r *job.Run) job.Change {
	return job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev, Value: r}
}

// book is a book at a revision. Its only job is j, and nothing was reported about it.
func book(at int64, j *job.Job) *notify.Book {
	return notify.NewBook(at, func(string) (*job.Job, *job.NotifyState) { return j, nil })
}

func skipped(reason string, rev int64) *job.Event {
	return &job.Event{ID: "e", Kind: job.EventSkipped, Job: "a", At: later.Add(time.Duration(rev) * time.Second), Reason: reason, From: epoch, To: later, Count: 3, Rev: rev}
}

// summarize writes each target of each notice as "notifier occasion run#attempt".
func summarize(list []*notify.Notice) (out []string) {
	for _, n := range list {
		for _, to := range n.To {
			what := "event"
			if n.Run != nil {
				what = n.Run.ID
			}
			if n.Attempt > 0 {
				what = fmt.Sprintf("%s#%d", what, n.Attempt)
			}
			out = append(out, fmt.Sprintf("%s %s %s", to.Name, to.Occasion, what))
		}
	}
	return out
}

func TestOccasions(t *testing.T) {
	for name, tt := range map[string]struct {
		when    []job.Occasion // all if empty
		changes []*job.Run
		want    []string
	}{
		"success":                   {changes: []*job.Run{ended("1", job.Succeeded, 10)}},
		"failure, each one":         {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.TimedOut, 11)}, want: []string{"ops failure 1", "ops failure 2"}},
		"recovery, once":            {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Succeeded, 11), ended("3", job.Succeeded, 12)}, want: []string{"ops failure 1", "ops recovery 2"}},
		"recovery after a lost run": {changes: []*job.Run{ended("1", job.Lost, 10), ended("2", job.Succeeded, 11)}, want: []string{"ops lost 1", "ops recovery 2"}},
		"canceled and skipped runs change nothing":      {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Canceled, 11), ended("3", job.Skipped, 12), ended("4", job.Succeeded, 13)}, want: []string{"ops failure 1", "ops recovery 4"}},
		"recovery without a notice of the failure":      {when: []job.Occasion{job.OnRecovery}, changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Succeeded, 11)}, want: []string{"ops recovery 2"}},
		"an attempt that was given up, once":            {changes: []*job.Run{gaveUp(ended("1", job.Pending, 10), 1), gaveUp(ended("1", job.Armed, 11), 1), gaveUp(ended("1", job.Running, 12), 1), gaveUp(ended("1", job.Succeeded, 13), 1)}, want: []string{"ops lost 1#1"}},
		"each attempt that was given up":                {changes: []*job.Run{gaveUp(ended("1", job.Pending, 10), 1), gaveUp(ended("1", job.Pending, 14), 1, 2)}, want: []string{"ops lost 1#1", "ops lost 1#2"}},
		"a run lost with its attempt, once":             {changes: []*job.Run{gaveUp(ended("1", job.Lost, 10), 1)}, want: []string{"ops lost 1#1"}},
		"a failure with an attempt given up":            {changes: []*job.Run{gaveUp(ended("1", job.TimedOut, 10), 1)}, want: []string{"ops failure 1#1"}},
		"the same for a notifier of lost alone":         {when: []job.Occasion{job.OnLost}, changes: []*job.Run{gaveUp(ended("1", job.TimedOut, 10), 1), ended("2", job.Failed, 11)}, want: []string{"ops lost 1#1"}},
		"an attempt that failed without being given up": {changes: []*job.Run{{Job: "a", ID: "1", State: job.Pending, Rev: 10, Attempts: []job.Attempt{{Number: 1, State: job.Failed, Finished: later}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := book(6, defined(tt.when...))
			for _, r := range tt.changes {
				b.Apply(change(r))
			}
			if diff := cmp.Diff(tt.want, summarize(b.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := b.Take(); len(again) != 0 {
				t.Errorf("taken again: %v", summarize(again))
			}
		})
	}
}

func TestMissedSlotsAreReported(t *testing.T) {
	b := book(6, defined())
	for rev, reason := range []string{"missed: a later slot runs instead", "paused", "overlap: a later slot replaces it", "missed: older than the window of 1h"} {
		e := skipped(reason, int64(10+rev))
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: e.Rev, Value: e})
	}
	r := ended("1", job.Skipped, 20)
	r.Reason = "missed: nobody could dispatch at its time, and the job's policy is none"
	b.Apply(change(r))
	want := []string{"ops missed event", "ops missed event", "ops missed 1"}
	if diff := cmp.Diff(want, summarize(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsBeforeTheNotifierAreNotReported(t *testing.T) {
	before := ended("1", job.Failed, 10)
	before.Finished = epoch.Add(-time.Minute)
	old := skipped("missed: x", 11)
	old.At = epoch.Add(-time.Minute)
	b := book(20, defined())
	b.Open(defined(), nil, []*job.Run{before}, []*job.Event{old})
	b.Apply(change(ended("2", job.Succeeded, 21)))
	if got := summarize(b.Take()); len(got) != 0 {
		t.Errorf("reported: %v", got)
	}
	// A recovery from an older failure is not reported either.
	b = book(20, defined())
	b.Open(defined(), &job.NotifyState{Job: "a", UpTo: 9, Failing: "0", At: epoch.Add(-time.Minute)}, nil, nil)
	b.Apply(change(ended("2", job.Succeeded, 21)))
	if got := summarize(b.Take()); len(got) != 0 {
		t.Errorf("reported: %v", got)
	}
}

func TestRepeatedChangesAreReportedOnce(t *testing.T) {
	b := book(20, defined())
	run, event := ended("1", job.Failed, 10), skipped("missed: x", 11)
	b.Open(defined(), nil, []*job.Run{run, ended("2", job.Failed, 30)}, []*job.Event{event})
	for range 2 { // the events come twice, as after a new list
		b.Apply(change(run))
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: 11, Value: event})
	}
	b.Apply(change(ended("2", job.Failed, 30)))
	want := []string{"ops failure 1", "ops missed event", "ops failure 2"}
	if diff := cmp.Diff(want, summarize(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobWithoutNotifiersIsNotReported(t *testing.T) {
	var j *job.Job
	b := notify.NewBook(6, func(string) (*job.Job, *job.NotifyState) { return j, nil })
	b.Apply(change(ended("1", job.Failed, 10)))
	if len(b.Take()) != 0 {
		t.Error("a notice for a job that does not exist")
	}
	j = defined()
	b.Apply(change(ended("2", job.Failed, 12)))
	all := b.Take()
	j = defined()
	j.Spec.Notify = nil
	b.Apply(job.Change{Kind: job.RecordJob, Name: "a", Rev: 13, Value: j})
	b.Done(all[0].Receipt, "ops")
	if len(b.Records(later)) != 0 {
		t.Error("a record for a job that lost its notifiers")
	}
	b.Recorded(job.NotifyState{Job: "a"}, 14, nil)
	b.Apply(change(ended("3", job.Failed, 15)))
	if len(b.Take()) != 0 {
		t.Error("a notice for a job without notifiers")
	}
}

// After a gap in the watch all events come again, even those of jobs whose page was closed since.
func TestOldEventsAreNotReportedAgain(t *testing.T) {
	b := book(6, defined())
	for _, rev := range []int64{5, 10} {
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: rev, Value: skipped("missed: x", rev)})
	}
	all := b.Take()
	if diff := cmp.Diff([]string{"ops missed event"}, summarize(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	b.Done(all[0].Receipt, "ops")
	b.Recorded(b.Records(later)[0], 11, nil)
	b.Apply(job.Change{Kind: job.RecordNotifyState, Name: "a", Rev: 11, Value: &job.NotifyState{Job: "a", UpTo: 10}})
	b.Apply(change(ended("1", job.Succeeded, 12)))
	b.Recorded(b.Records(later)[0], 13, nil)
	if b.Pages() != 0 {
		t.Fatal("the page is still open")
	}
	for _, rev := range []int64{5, 10} {
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: rev, Value: skipped("missed: x", rev)})
	}
	if got := summarize(b.Take()); len(got) != 0 {
		t.Errorf("reported again: %v", got)
	}
}
