package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// defined is a job of which ops are told everything.
func defined(when ...job.Occasion) *job.Job {
	spec := job.Spec{Shell: "true", Notify: job.Notify{"ops": {URL: "ntfy://x/y", When: when}}}
	j, _ := job.Define(nil, "a", spec, job.Origin{Kind: job.OriginAPI}, epoch)
	j.Rev = 5
	return &j
}

// ended is a run of a that ended at revision rev.
func ended(id string, state job.State, rev int64) *job.Run {
	return &job.Run{Job: "a", ID: id, State: state, Finished: later, Rev: rev, Attempt: 1}
}

// gaveUp is r with attempts that were given up, by number.
func gaveUp(r *job.Run, numbers ...int) *job.Run {
	for _, n := range numbers {
		r.Attempts = append(r.Attempts, job.Attempt{Number: n, Worker: "w1", State: job.Lost, Finished: later, Reason: "worker w1 was lost", GivenUp: true})
	}
	return r
}

func change(r *job.Run) job.Change {
	return job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev, Run: r}
}

// book is one that has seen everything up to a revision, of a job that is defined like that. Nothing has been told.
func book(at int64, j *job.Job) *notify.Book {
	return notify.NewBook(at, func(string) (*job.Job, *job.Told) { return j, nil })
}

func skipped(reason string, rev int64) *job.Event {
	return &job.Event{ID: "e", Kind: job.EventSkipped, Job: "a", At: later, Reason: reason, From: epoch, To: later, Count: 3, Rev: rev}
}

// told says what a list of notices tells whom, in short.
func told(list []*notify.Notice) (out []string) {
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

func TestWhatIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		when    []job.Occasion // all if empty
		changes []*job.Run
		want    []string
	}{
		"success":                                 {changes: []*job.Run{ended("1", job.Succeeded, 10)}},
		"failure, each one":                       {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.TimedOut, 11)}, want: []string{"ops failure 1", "ops failure 2"}},
		"recovery, once":                          {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Succeeded, 11), ended("3", job.Succeeded, 12)}, want: []string{"ops failure 1", "ops recovery 2"}},
		"recovery after a lost run":               {changes: []*job.Run{ended("1", job.Lost, 10), ended("2", job.Succeeded, 11)}, want: []string{"ops lost 1", "ops recovery 2"}},
		"canceled and skipped runs change naught": {changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Canceled, 11), ended("3", job.Skipped, 12), ended("4", job.Succeeded, 13)}, want: []string{"ops failure 1", "ops recovery 4"}},
		"recovery though nobody wants failures":   {when: []job.Occasion{job.OnRecovery}, changes: []*job.Run{ended("1", job.Failed, 10), ended("2", job.Succeeded, 11)}, want: []string{"ops recovery 2"}},
		"an attempt that was given up, once":      {changes: []*job.Run{gaveUp(ended("1", job.Pending, 10), 1), gaveUp(ended("1", job.Armed, 11), 1), gaveUp(ended("1", job.Running, 12), 1), gaveUp(ended("1", job.Succeeded, 13), 1)}, want: []string{"ops lost 1#1"}},
		"each attempt that was given up":          {changes: []*job.Run{gaveUp(ended("1", job.Pending, 10), 1), gaveUp(ended("1", job.Pending, 14), 1, 2)}, want: []string{"ops lost 1#1", "ops lost 1#2"}},
		"a run lost with its attempt, once":       {changes: []*job.Run{gaveUp(ended("1", job.Lost, 10), 1)}, want: []string{"ops lost 1#1"}},
		"a failure with an attempt given up":      {changes: []*job.Run{gaveUp(ended("1", job.TimedOut, 10), 1)}, want: []string{"ops failure 1#1"}},
		"the same to who wants lost alone":        {when: []job.Occasion{job.OnLost}, changes: []*job.Run{gaveUp(ended("1", job.TimedOut, 10), 1), ended("2", job.Failed, 11)}, want: []string{"ops lost 1#1"}},
		"an attempt that failed by itself":        {changes: []*job.Run{{Job: "a", ID: "1", State: job.Pending, Rev: 10, Attempts: []job.Attempt{{Number: 1, State: job.Failed, Finished: later}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := book(6, defined(tt.when...))
			for _, r := range tt.changes {
				b.Apply(change(r))
			}
			if diff := cmp.Diff(tt.want, told(b.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := b.Take(); len(again) != 0 {
				t.Errorf("taken again: %v", told(again))
			}
		})
	}
}

func TestMissedSlotsAreTold(t *testing.T) {
	b := book(6, defined())
	for rev, reason := range []string{"missed: a later slot runs instead", "paused", "overlap: a later slot replaces it", "missed: older than the window of 1h"} {
		e := skipped(reason, int64(10+rev))
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: e.Rev, Event: e})
	}
	r := ended("1", job.Skipped, 20)
	r.Reason = "missed: nobody could dispatch at its time, and the job's policy is none"
	b.Apply(change(r))
	want := []string{"ops missed event", "ops missed event", "ops missed 1"}
	if diff := cmp.Diff(want, told(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A leader writes down what it has told, and no more; the next one tells the rest.
func TestTheNextLeaderGoesOn(t *testing.T) {
	history := []*job.Run{ended("1", job.Failed, 10), ended("2", job.Failed, 11), ended("3", job.Succeeded, 12), ended("4", job.Succeeded, 13)}
	first := book(6, defined())
	for _, r := range history {
		first.Apply(change(r))
	}
	all := first.Take()
	if got := told(all); len(got) != 3 {
		t.Fatalf("told: %v", got)
	}
	var mark *job.Told
	for n := 0; ; n++ { // the leader dies after it has told n of them
		next := book(20, defined())
		next.Open(defined(), mark, history, nil)
		if diff := cmp.Diff(told(all[n:]), told(next.Take()), cmp.Transformer("", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", n, diff)
		}
		if n == len(all) {
			break
		}
		first.Settle(all[n])
		marks := first.Marks(later)
		if len(marks) != 1 {
			t.Fatalf("after %d: %d marks, want 1", n+1, len(marks))
		}
		first.Marked(marks[0], int64(30+n), nil)
		mark = &marks[0]
		mark.Rev = int64(30 + n)
	}
	if mark.UpTo != 12 || mark.Failing != "" {
		t.Errorf("got %+v, want up to 12, and nothing that fails", mark)
	}
}

func TestWhatWasToldOutOfOrderIsMarkedInOrder(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(ended("1", job.Failed, 10)))
	b.Apply(change(ended("2", job.Failed, 11)))
	all := b.Take()
	b.Settle(all[1])
	if marks := b.Marks(later); len(marks) != 0 {
		t.Errorf("the first is not told: got %+v", marks)
	}
	b.Settle(all[0])
	if marks := b.Marks(later); len(marks) != 1 || marks[0].UpTo != 11 || marks[0].Failing != "2" {
		t.Errorf("got %+v, want up to 11", marks)
	}
}

// Outcomes of several runs of a job may share a transaction. All of them are told, and the mark does not pass their revision
// before they are.
func TestRunsThatEndAtOneRevision(t *testing.T) {
	b := book(6, defined())
	for _, id := range []string{"1", "2", "3"} {
		b.Apply(change(ended(id, job.Failed, 10)))
	}
	list := b.Take()
	if diff := cmp.Diff([]string{"ops failure 1", "ops failure 2", "ops failure 3"}, told(list)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for i, n := range list {
		b.Settle(n)
		for _, m := range b.Marks(later) {
			if last := i == len(list)-1; last != (m.UpTo == 10) {
				t.Errorf("after %d of %d are told, it is marked up to %d", i+1, len(list), m.UpTo)
			}
			m.Rev = int64(20 + i)
			b.Marked(m, m.Rev, nil)
		}
	}
}

func TestEveryNotifierHasToKnow(t *testing.T) {
	j := defined()
	j.Spec.Notify = job.Notify{"ops": {URL: "x", When: job.Occasions()}, "pager": {URL: "y", When: []job.Occasion{job.OnFailure}}}
	b := book(6, j)
	b.Apply(change(ended("1", job.Failed, 10)))
	all := b.Take()
	if diff := cmp.Diff([]string{"ops failure 1", "pager failure 1"}, told(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	b.Settle(all[0])
	if marks := b.Marks(later); len(marks) != 0 {
		t.Errorf("one of two is told: got %+v", marks)
	}
	b.Settle(all[0])
	if marks := b.Marks(later); len(marks) != 1 {
		t.Errorf("both are told: got %+v", marks)
	}
}

func TestAttemptsThatWereToldAreNotToldAgain(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(gaveUp(ended("1", job.Pending, 10), 1)))
	b.Settle(b.Take()[0])
	mark := b.Marks(later)[0]
	if diff := cmp.Diff(map[string]int{"1": 1}, mark.Attempts); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		run  *job.Run
		want []string
	}{
		"the run goes on":            {gaveUp(ended("1", job.Running, 12), 1), nil},
		"it has succeeded":           {gaveUp(ended("1", job.Succeeded, 12), 1), nil},
		"another one was given up":   {gaveUp(ended("1", job.Running, 12), 1, 2), []string{"ops lost 1#2"}},
		"it was lost with the other": {gaveUp(ended("1", job.Lost, 12), 1, 2), []string{"ops lost 1#2"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := book(20, defined())
			next.Open(defined(), &mark, []*job.Run{tt.run}, nil)
			if diff := cmp.Diff(tt.want, told(next.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// Once the run has ended, the record forgets it.
	b.Marked(mark, 11, nil)
	b.Apply(change(gaveUp(ended("1", job.Failed, 12), 1)))
	b.Settle(b.Take()[0])
	if mark := b.Marks(later)[0]; len(mark.Attempts) != 0 || mark.UpTo != 12 || mark.Rev != 11 {
		t.Errorf("got %+v, want no attempts, up to 12, in the place of revision 11", mark)
	}
}

func TestNobodyIsToldOfWhatWasBefore(t *testing.T) {
	before := ended("1", job.Failed, 10)
	before.Finished = epoch.Add(-time.Minute)
	old := skipped("missed: x", 11)
	old.At = epoch.Add(-time.Minute)
	b := book(20, defined())
	b.Open(defined(), nil, []*job.Run{before}, []*job.Event{old})
	b.Apply(change(ended("2", job.Succeeded, 21)))
	if got := told(b.Take()); len(got) != 0 {
		t.Errorf("told: %v", got)
	}
	// Nor that a job recovers which failed before it was asked who is to know.
	b = book(20, defined())
	b.Open(defined(), &job.Told{Job: "a", UpTo: 9, Failing: "0", At: epoch.Add(-time.Minute)}, nil, nil)
	b.Apply(change(ended("2", job.Succeeded, 21)))
	if got := told(b.Take()); len(got) != 0 {
		t.Errorf("told: %v", got)
	}
}

func TestWhatComesTwiceIsToldOnce(t *testing.T) {
	b := book(20, defined())
	run, event := ended("1", job.Failed, 10), skipped("missed: x", 11)
	b.Open(defined(), nil, []*job.Run{run, ended("2", job.Failed, 30)}, []*job.Event{event})
	for range 2 { // as after a list that was read anew
		b.Apply(change(run))
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: 11, Event: event})
	}
	b.Apply(change(ended("2", job.Failed, 30)))
	want := []string{"ops failure 1", "ops missed event", "ops failure 2"}
	if diff := cmp.Diff(want, told(b.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobsComeAndGo(t *testing.T) {
	var j *job.Job
	b := notify.NewBook(6, func(string) (*job.Job, *job.Told) { return j, nil })
	b.Apply(change(ended("1", job.Failed, 10)))
	if len(b.Take()) != 0 {
		t.Error("something is told of a job that there is not")
	}
	j = defined()
	b.Apply(change(ended("2", job.Failed, 12)))
	all := b.Take()
	j = defined()
	j.Spec.Notify = nil
	b.Apply(job.Change{Kind: job.RecordJob, Name: "a", Rev: 13, Job: j})
	b.Settle(all[0])
	if len(b.Marks(later)) != 0 {
		t.Error("a job of which nobody is told any more is written about")
	}
	b.Marked(job.Told{Job: "a"}, 14, nil)
	b.Apply(change(ended("3", job.Failed, 15)))
	if len(b.Take()) != 0 {
		t.Error("something is told of a job of which nobody is to be told")
	}
}

// A job that does well has no page: of a million jobs, hardly any has.
func TestAJobThatDoesWellHasNoPage(t *testing.T) {
	mark := &job.Told{Job: "a", UpTo: 5, At: later}
	b := notify.NewBook(6, func(string) (*job.Job, *job.Told) { return defined(), mark })
	b.Open(defined(), mark, []*job.Run{ended("0", job.Succeeded, 6)}, nil)
	pages := func(want int, when string) {
		t.Helper()
		if got := b.Pages(); got != want {
			t.Errorf("%s: %d pages, want %d", when, got, want)
		}
	}
	pages(0, "all is well")
	b.Apply(change(ended("1", job.Succeeded, 10)))
	pages(0, "it succeeded")
	b.Apply(change(gaveUp(ended("2", job.Pending, 11), 1)))
	b.Apply(change(gaveUp(ended("2", job.Running, 12), 1)))
	b.Settle(b.Take()[0])
	b.Marked(b.Marks(later)[0], 13, nil)
	pages(1, "an attempt was given up, and the run goes on")
	b.Apply(change(gaveUp(ended("2", job.Failed, 14), 1)))
	b.Settle(b.Take()[0])
	b.Marked(b.Marks(later)[0], 15, nil)
	pages(1, "it fails")
	b.Apply(change(ended("3", job.Succeeded, 16)))
	n := b.Take()
	pages(1, "that it succeeds is to be told")
	b.Settle(n[0])
	mark = &b.Marks(later)[0]
	pages(1, "that is being written")
	b.Marked(*mark, 17, nil)
	mark.Rev = 17
	pages(0, "that is written")
	b.Apply(change(ended("4", job.Failed, 18)))
	b.Settle(b.Take()[0])
	if again := b.Marks(later); len(again) != 1 || again[0].UpTo != 18 || again[0].Failing != "4" || again[0].Rev != 17 {
		t.Errorf("got %+v", again)
	}
}

func TestARefusedMarkComesAgain(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(ended("1", job.Failed, 10)))
	b.Settle(b.Take()[0])
	first := b.Marks(later)
	if len(b.Marks(later)) != 0 {
		t.Error("two are under way")
	}
	b.Apply(job.Change{Kind: job.RecordTold, Name: "a", Rev: 15, Told: &job.Told{Job: "a"}}) // somebody's hand
	b.Marked(first[0], 0, job.ErrConflict)
	if again := b.Marks(later); len(again) != 1 || again[0].Rev != 15 || again[0].UpTo != 10 {
		t.Errorf("got %+v, want the same in the place of revision 15", again)
	}
	b.Marked(first[0], 18, job.ErrConflict) // that nobody can read, so that no change tells of it
	again := b.Marks(later)
	if len(again) != 1 || again[0].Rev != 18 {
		t.Errorf("got %+v, want the same in the place of revision 18", again)
	}
	b.Marked(again[0], 0, errors.New("x"))
	b.Apply(job.Change{Kind: job.RecordTold, Name: "a", Rev: 19})
	if again := b.Marks(later); len(again) != 1 || again[0].Rev != 0 {
		t.Errorf("got %+v, want a new record", again)
	}
}

func TestMessages(t *testing.T) {
	exit := 3
	run := &job.Run{
		Job: "a", ID: "2026-11-22T04:00:00Z", Slot: epoch, State: job.Failed, Reason: "exit status 3; gave up after 2 retries",
		Attempt: 3, Worker: "w1", Finished: later, Exit: &exit, Rev: 10,
	}
	lost := gaveUp(&job.Run{Job: "a", ID: "x", Slot: epoch, State: job.Pending, Reason: "tried again after losing worker w1", Attempt: 1, Rev: 12}, 1)
	good := ended("y", job.Succeeded, 11)
	good.Slot = epoch
	b := book(6, defined())
	b.Apply(change(run))
	b.Apply(change(good))
	b.Apply(change(lost))
	e := skipped("missed: a later slot runs instead", 13)
	b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: e.Rev, Event: e})
	var got strings.Builder
	for _, n := range b.Take() {
		fmt.Fprintf(&got, "%s\n\n", n.Message(n.To[0].Occasion, strings.Repeat("noise\n", 50)+"it broke\n", "http://q1:8470").Text())
	}
	want := `rota: job a failed
run: a/2026-11-22T04:00:00Z
slot: 2026-11-22T04:00:00Z
state: failed
reason: exit status 3; gave up after 2 retries
attempt: 3, at worker w1
ended: 2026-11-22T05:00:00Z
http://q1:8470/v1/runs/a/2026-11-22T04:00:00Z
output ends with:
` + strings.Repeat("noise\n", 19) + `it broke

rota: job a succeeds again
run: a/y
slot: 2026-11-22T04:00:00Z
state: succeeded, after a/2026-11-22T04:00:00Z did not
attempts: 1
ended: 2026-11-22T05:00:00Z
http://q1:8470/v1/runs/a/y

rota: attempt 1 of a run of job a was given up
run: a/x
slot: 2026-11-22T04:00:00Z
state: pending
reason: tried again after losing worker w1
given up: attempt 1 at worker w1: worker w1 was lost
attempts: 1
http://q1:8470/v1/runs/a/x
output ends with:
` + strings.Repeat("noise\n", 19) + `it broke

rota: job a missed 3 slots
slots: 3 slots, from 2026-11-22T04:00:00Z to 2026-11-22T05:00:00Z
reason: missed: a later slot runs instead
http://q1:8470/v1/jobs/a

`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesAreShort(t *testing.T) {
	b := book(6, defined())
	r := ended("1", job.Failed, 10)
	r.Reason = strings.Repeat("ä", 1000)
	b.Apply(change(r))
	n := b.Take()[0]
	if m := n.Message(job.OnFailure, strings.Repeat("ö", job.OutputTail), ""); len(m.Text()) > 5000 || !strings.Contains(m.Body, "…ö") {
		t.Errorf("%d bytes: %.200q", len(m.Text()), m.Text())
	}
	var lines []string
	for range 30 {
		lines = append(lines, n.Line(job.OnFailure))
	}
	m := notify.Summary(map[job.Occasion]int{job.OnFailure: 30, job.OnLost: 7}, lines)
	if m.Title != "rota: and 37 more" || !strings.HasPrefix(m.Body, "failure: 30, lost: 7\n- job a failed (a/1)") || !strings.HasSuffix(m.Body, "\n- and 17 others: rota runs") {
		t.Errorf("got %q, %.100q … %q", m.Title, m.Body, m.Body[len(m.Body)-100:])
	}
	if len(m.Text()) > 5000 {
		t.Errorf("%d bytes", len(m.Text()))
	}
}

func TestSchemesAreSorted(t *testing.T) {
	if !slices.IsSorted(notify.Schemes()) {
		t.Error("they are not")
	}
}

// After a gap in the watch all events come again, also those of jobs that have had no page since.
func TestOldEventsAreNotToldAgain(t *testing.T) {
	b := book(6, defined())
	for _, rev := range []int64{5, 10} {
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: rev, Event: skipped("missed: x", rev)})
	}
	all := b.Take()
	if diff := cmp.Diff([]string{"ops missed event"}, told(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	b.Settle(all[0])
	b.Marked(b.Marks(later)[0], 11, nil)
	b.Apply(job.Change{Kind: job.RecordTold, Name: "a", Rev: 11, Told: &job.Told{Job: "a", UpTo: 10}})
	if b.Pages() != 0 {
		t.Fatal("the page is left")
	}
	for _, rev := range []int64{5, 10} {
		b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: rev, Event: skipped("missed: x", rev)})
	}
	if got := told(b.Take()); len(got) != 0 {
		t.Errorf("told again: %v", got)
	}
}
