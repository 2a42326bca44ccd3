package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// lateSlot is the event of a slot of job a that has not ended in time.
func lateSlot(n int, rev int64) *job.Event {
	at := later.Add(time.Duration(n) * time.Minute)
	return &job.Event{ID: "late", Kind: job.EventLate, Job: "a", At: at, Reason: "not finished by 06:00", From: epoch, To: epoch, Count: 1, Rev: rev}
}

func event(e *job.Event) job.Change {
	return job.Change{Kind: job.RecordEvent, Name: "a/" + e.ID, Rev: e.Rev, Value: e}
}

// scheduled is the run of a slot that ended so long after it.
func scheduled(id string, state job.State, rev int64, took time.Duration) *job.Run {
	return &job.Run{Job: "a", ID: id, Kind: job.KindScheduled, Slot: later, State: state, Finished: later.Add(took), Rev: rev, Attempt: 1}
}

func TestLate(t *testing.T) {
	skip := scheduled("1", job.Skipped, 10, time.Minute)
	skip.Reason = "missed: x"
	for name, tt := range map[string]struct {
		when    []job.Occasion
		changes []job.Change
		want    []string
	}{
		"slots that are late, once": {changes: []job.Change{event(lateSlot(1, 10)), event(lateSlot(2, 11))}, want: []string{"ops late event"}},
		"a run that succeeds late does not end the cause": {
			changes: []job.Change{event(lateSlot(1, 10)), change(scheduled("1", job.Succeeded, 11, 2*time.Hour)), event(lateSlot(2, 12))},
			want:    []string{"ops late event"},
		},
		"a run that succeeds in time does": {
			changes: []job.Change{event(lateSlot(1, 10)), change(scheduled("1", job.Succeeded, 11, time.Minute)), event(lateSlot(2, 12))},
			want:    []string{"ops late event", "ops late event"},
		},
		"a run that ends late before its slot is recorded": {
			changes: []job.Change{change(scheduled("1", job.Succeeded, 10, time.Hour+time.Second))}, want: []string{"ops late 1"},
		},
		"a run that ends at that time":        {changes: []job.Change{change(scheduled("1", job.Succeeded, 10, time.Hour))}},
		"missed and late slots are one cause": {changes: []job.Change{change(skip), event(lateSlot(2, 12))}, want: []string{"ops missed 1"}},
		"a run that fails gives a failure":    {changes: []job.Change{change(scheduled("1", job.Failed, 10, time.Minute))}, want: []string{"ops failure 1"}},
		"for late alone it is late":           {when: []job.Occasion{job.OnLate}, changes: []job.Change{change(scheduled("1", job.Failed, 10, time.Minute))}, want: []string{"ops late 1"}},
		"so is a missed slot":                 {when: []job.Occasion{job.OnLate}, changes: []job.Change{change(skip)}, want: []string{"ops late 1"}},
		"a run by hand is never late":         {when: []job.Occasion{job.OnLate}, changes: []job.Change{change(ended("1", job.Failed, 10))}},
		"without late in when":                {when: []job.Occasion{job.OnFailure}, changes: []job.Change{event(lateSlot(1, 10))}},
	} {
		t.Run(name, func(t *testing.T) {
			j := definedWith(job.Notifier{URL: "ntfy://x/y", When: tt.when})
			j.Spec.FinishBy = "1h"
			b := book(6, j)
			for _, c := range tt.changes {
				b.Apply(c)
			}
			if diff := cmp.Diff(tt.want, summarize(b.Take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The leader dies after it has recorded that a slot is late, or after it has sent the message. The next one sends the rest.
func TestNextLeaderReportsALateSlot(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y"})
	j.Spec.FinishBy = "1h"
	e := lateSlot(1, 10)
	first := book(6, j)
	first.Apply(event(e))
	n := first.Take()
	next := book(20, j)
	next.Open(j, nil, nil, []*job.Event{e})
	if diff := cmp.Diff(summarize(n), summarize(next.Take())); diff != "" {
		t.Errorf("before the record (-want +got):\n%s", diff)
	}
	first.Done(n[0].Receipt, "ops")
	record := first.Records(later)[0]
	next = book(20, j)
	next.Open(j, &record, nil, []*job.Event{e})
	if got := summarize(next.Take()); len(got) > 0 {
		t.Errorf("after the record: got %v", got)
	}
	if m := n[0].Message(job.OnLate, "", ""); m.Title != "rota: job a is late" || !strings.Contains(m.Body, "not finished by 06:00") {
		t.Errorf("the message is:\n%s", m.Text())
	}
}

// A run that cannot be stopped is reported when its worker is asked to stop it. When the attempt is given up later, this is the same cause.
func TestStuck(t *testing.T) {
	r := ended("1", job.Running, 10)
	r.Finished, r.Started, r.Bound, r.Reason = time.Time{}, later, job.Duration(time.Minute), policy.Overdue
	again := *r
	again.Rev = 11
	b := book(6, definedWith(job.Notifier{URL: "ntfy://x/y"}))
	for _, c := range []*job.Run{r, &again, gaveUp(ended("1", job.Pending, 12), 1), ended("1", job.Succeeded, 13)} {
		b.Apply(change(c))
	}
	all := b.Take()
	if diff := cmp.Diff([]string{"ops stuck 1"}, summarize(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if m := all[0].Message(job.OnStuck, "", ""); m.Title != "rota: a run of job a is stuck" || !strings.Contains(m.Body, policy.Overdue) {
		t.Errorf("the message is:\n%s", m.Text())
	}
}

// TestALateSlotIsReportedOnce covers a run that ends after its slot was reported, and a notifier that repeats its messages at once.
func TestALateSlotIsReportedOnce(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y", When: []job.Occasion{job.OnLate}, Repeat: 1})
	j.Spec.FinishBy = "1h"
	running := scheduled(job.SlotID(epoch), job.Running, 9, 0)
	running.Slot, running.Finished = epoch, time.Time{}
	succeeded := *running
	succeeded.State, succeeded.Finished, succeeded.Rev = job.Succeeded, epoch.Add(3*time.Hour), 11
	e := lateSlot(1, 10)
	first := book(6, j)
	first.Apply(change(running))
	first.Apply(event(e))
	n := first.Take()
	if diff := cmp.Diff([]string{"ops late event"}, summarize(n)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	first.Done(n[0].Receipt, "ops")
	record := first.Records(later)[0]
	next := book(10, j)
	next.Open(j, &record, []*job.Run{running}, []*job.Event{e})
	waiting := book(10, j)
	waiting.Open(j, &record, nil, []*job.Event{e})
	for name, b := range map[string]*notify.Book{
		"the same leader": first, "the next one": next, "the next one, which has not seen the run begin": waiting,
	} {
		if b.Apply(change(&succeeded)); len(summarize(b.Take())) > 0 {
			t.Errorf("%s reports the end of the run too", name)
		}
	}
}

// TestALateSlotThatNobodyHeardOfIsReported adds the notifier after the slot was recorded as late. The late end of its run is news, also
// after a change of leader.
func TestALateSlotThatNobodyHeardOfIsReported(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y", When: []job.Occasion{job.OnLate}, Repeat: 1})
	j.Spec.FinishBy = "1h"
	e := lateSlot(1, 10)
	j.Notified = e.At.Add(time.Hour)
	ended := scheduled(job.SlotID(epoch), job.Succeeded, 14, 0)
	ended.Slot, ended.Finished = epoch, j.Notified.Add(time.Hour)
	b := book(12, j)
	b.Open(j, nil, nil, []*job.Event{e})
	if b.Apply(change(ended)); len(summarize(b.Take())) != 1 {
		t.Error("the late end is not reported")
	}
}

// TestALateSlotThatIsSkippedIsForgotten covers a slot that waited without a record, and whose job then skipped it. It will have no run.
func TestALateSlotThatIsSkippedIsForgotten(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y", When: []job.Occasion{job.OnLate}})
	j.Spec.FinishBy = "1h"
	late := lateSlot(1, 10)
	skip := &job.Event{ID: "skip", Kind: job.EventSkipped, Job: "a", At: late.At, Reason: "missed: x", From: epoch, To: epoch, Count: 1, Rev: 11}
	b, next := book(6, j), book(20, j)
	b.Apply(event(late))
	b.Done(b.Take()[0].Receipt, "ops")
	b.Apply(event(skip))
	b.Apply(change(scheduled("1", job.Succeeded, 12, time.Minute)))
	b.Take()
	record := b.Records(later)[0]
	b.Recorded(record, 13, nil)
	next.Open(j, &record, nil, []*job.Event{late, skip})
	if n := b.Pages(); n != 0 {
		t.Errorf("the leader has %d pages, want none", n)
	}
	if n := next.Pages(); n != 0 {
		t.Errorf("the next leader has %d pages, want none", n)
	}
}
