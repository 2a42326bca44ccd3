package notify_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// A record says which notices a leader has sent. The next leader reports the rest.
func TestNextLeaderReportsTheRest(t *testing.T) {
	history := []*job.Run{ended("1", job.Failed, 10), ended("2", job.Failed, 11), ended("3", job.Succeeded, 12), ended("4", job.Succeeded, 13)}
	first := book(6, defined())
	for _, r := range history {
		first.Apply(change(r))
	}
	all := first.Take()
	if got := summarize(all); len(got) != 3 {
		t.Fatalf("reported: %v", got)
	}
	var record *job.NotifyState
	for n := 0; ; n++ { // the leader dies after it has sent n of them
		next := book(20, defined())
		next.Open(defined(), record, history, nil)
		if diff := cmp.Diff(summarize(all[n:]), summarize(next.Take()), cmp.Transformer("", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", n, diff)
		}
		if n == len(all) {
			break
		}
		first.Done(all[n].Receipt, "ops")
		records := first.Records(later)
		if len(records) != 1 {
			t.Fatalf("after %d: %d records, want 1", n+1, len(records))
		}
		first.Recorded(records[0], int64(30+n), nil)
		record = &records[0]
		record.Rev = int64(30 + n)
	}
	if record.UpTo != 12 || record.Failing != "" {
		t.Errorf("got %+v, want up to 12, and no failure", record)
	}
}

func TestRecordFollowsTheOrderOfRevisions(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(ended("1", job.Failed, 10)))
	b.Apply(change(ended("2", job.Failed, 11)))
	all := b.Take()
	b.Done(all[1].Receipt, "ops")
	if records := b.Records(later); len(records) != 0 {
		t.Errorf("before the first notice is done: got %+v, want no record", records)
	}
	b.Done(all[0].Receipt, "ops")
	if records := b.Records(later); len(records) != 1 || records[0].UpTo != 11 || records[0].Failing != "2" {
		t.Errorf("got %+v, want up to 11", records)
	}
}

// Several runs of a job may end in one transaction. The record moves past their revision only after all of them are reported.
func TestRunsThatEndAtOneRevision(t *testing.T) {
	b := book(6, defined())
	for _, id := range []string{"1", "2", "3"} {
		b.Apply(change(ended(id, job.Failed, 10)))
	}
	list := b.Take()
	if diff := cmp.Diff([]string{"ops failure 1", "ops failure 2", "ops failure 3"}, summarize(list)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for i, n := range list {
		b.Done(n.Receipt, "ops")
		for _, m := range b.Records(later) {
			if last := i == len(list)-1; last != (m.UpTo == 10) {
				t.Errorf("after %d of %d notices, the record is at %d", i+1, len(list), m.UpTo)
			}
			m.Rev = int64(20 + i)
			b.Recorded(m, m.Rev, nil)
		}
	}
}

func TestNoticeIsDoneOnceAllNotifiersHaveIt(t *testing.T) {
	j := defined()
	j.Spec.Notify = job.Notify{"ops": {URL: "x", When: job.Occasions()}, "pager": {URL: "y", When: []job.Occasion{job.OnFailure}}}
	b := book(6, j)
	b.Apply(change(ended("1", job.Failed, 10)))
	all := b.Take()
	if diff := cmp.Diff([]string{"ops failure 1", "pager failure 1"}, summarize(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	b.Done(all[0].Receipt, "ops")
	if records := b.Records(later); len(records) != 0 {
		t.Errorf("after one notifier of two: got %+v, want no record", records)
	}
	b.Done(all[0].Receipt, "pager")
	if records := b.Records(later); len(records) != 1 {
		t.Errorf("after both notifiers: got %+v, want one record", records)
	}
}

func TestRefusedRecordIsWrittenAgain(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(ended("1", job.Failed, 10)))
	b.Done(b.Take()[0].Receipt, "ops")
	first := b.Records(later)
	if len(b.Records(later)) != 0 {
		t.Error("two records are under way")
	}
	b.Apply(job.Change{Kind: job.RecordNotifyState, Name: "a", Rev: 15, Value: &job.NotifyState{Job: "a"}}) // written by hand
	b.Recorded(first[0], 0, job.ErrConflict)
	if again := b.Records(later); len(again) != 1 || again[0].Rev != 15 || again[0].UpTo != 10 {
		t.Errorf("got %+v, want the same record to replace revision 15", again)
	}
	b.Recorded(first[0], 18, job.ErrConflict) // an unreadable record, which no change reports
	again := b.Records(later)
	if len(again) != 1 || again[0].Rev != 18 {
		t.Errorf("got %+v, want the same record to replace revision 18", again)
	}
	b.Recorded(again[0], 0, errors.New("x"))
	b.Apply(job.Change{Kind: job.RecordNotifyState, Name: "a", Rev: 19})
	if again := b.Records(later); len(again) != 1 || again[0].Rev != 0 {
		t.Errorf("got %+v, want a new record", again)
	}
}

func TestAttemptsAreReportedOnce(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(gaveUp(ended("1", job.Pending, 10), 1)))
	b.Done(b.Take()[0].Receipt, "ops")
	record := b.Records(later)[0]
	if diff := cmp.Diff(map[string]int{"1": 1}, record.Attempts); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		run  *job.Run
		want []string
	}{
		"the run goes on":                       {gaveUp(ended("1", job.Running, 12), 1), nil},
		"it succeeded":                          {gaveUp(ended("1", job.Succeeded, 12), 1), nil},
		"another attempt was given up":          {gaveUp(ended("1", job.Running, 12), 1, 2), []string{"ops lost 1#2"}},
		"the run was lost with another attempt": {gaveUp(ended("1", job.Lost, 12), 1, 2), []string{"ops lost 1#2"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := book(20, defined())
			next.Open(defined(), &record, []*job.Run{tt.run}, nil)
			if diff := cmp.Diff(tt.want, summarize(next.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// Once the run has ended, the record forgets it.
	b.Recorded(record, 11, nil)
	b.Apply(change(gaveUp(ended("1", job.Failed, 12), 1)))
	b.Done(b.Take()[0].Receipt, "ops")
	if record := b.Records(later)[0]; len(record.Attempts) != 0 || record.UpTo != 12 || record.Rev != 11 {
		t.Errorf("got %+v, want no attempts, up to 12, to replace revision 11", record)
	}
}

// A job without failures has no page. Of a million jobs, nearly all have none.
func TestJobWithoutFailuresHasNoPage(t *testing.T) {
	record := &job.NotifyState{Job: "a", UpTo: 5, At: later}
	b := notify.NewBook(6, func(string) (*job.Job, *job.NotifyState) { return defined(), record })
	b.Open(defined(), record, []*job.Run{ended("0", job.Succeeded, 6)}, nil)
	pages := func(want int, when string) {
		t.Helper()
		if got := b.Pages(); got != want {
			t.Errorf("%s: %d pages, want %d", when, got, want)
		}
	}
	pages(0, "without a failure")
	b.Apply(change(ended("1", job.Succeeded, 10)))
	pages(0, "after a success")
	b.Apply(change(gaveUp(ended("2", job.Pending, 11), 1)))
	b.Apply(change(gaveUp(ended("2", job.Running, 12), 1)))
	b.Done(b.Take()[0].Receipt, "ops")
	b.Recorded(b.Records(later)[0], 13, nil)
	pages(1, "after an attempt was given up, while the run goes on")
	b.Apply(change(gaveUp(ended("2", job.Failed, 14), 1)))
	b.Done(b.Take()[0].Receipt, "ops")
	b.Recorded(b.Records(later)[0], 15, nil)
	pages(1, "after a failure")
	b.Apply(change(ended("3", job.Succeeded, 16)))
	n := b.Take()
	pages(1, "before the recovery is reported")
	b.Done(n[0].Receipt, "ops")
	record = &b.Records(later)[0]
	pages(1, "while the record is written")
	b.Recorded(*record, 17, nil)
	record.Rev = 17
	pages(0, "after the record is written")
	b.Apply(change(ended("4", job.Failed, 18)))
	b.Done(b.Take()[0].Receipt, "ops")
	if again := b.Records(later); len(again) != 1 || again[0].UpTo != 18 || again[0].Failing != "4" || again[0].Rev != 17 {
		t.Errorf("got %+v", again)
	}
}

// A sender that only has to settle a notice needs no room for the notice itself.
func TestAReceiptDoesNotHoldItsNotice(t *testing.T) {
	b := book(6, defined())
	b.Apply(change(ended("1", job.Failed, 10)))
	n := b.Take()[0]
	r, freed := n.Receipt, make(chan struct{})
	runtime.AddCleanup(n, func(freed chan struct{}) { close(freed) }, freed)
	deadline := time.After(20 * time.Second)
	for held := true; held; {
		runtime.GC()
		select {
		case <-freed:
			held = false
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("the notice is still in memory after 20s")
		}
	}
	b.Done(r, "ops")
	if records := b.Records(later); len(records) != 1 || records[0].UpTo != 10 {
		t.Errorf("got %+v, want up to 10", records)
	}
}
