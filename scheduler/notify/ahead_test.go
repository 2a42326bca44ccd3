package notify_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// record returns the record that a book makes at a time, nil if it makes none.
func record(b *notify.Book, at time.Time) *job.NotifyState {
	for _, r := range b.Records(at) {
		b.Recorded(r, 30, nil)
		r.Rev = 30
		return &r
	}
	return nil
}

// A notifier whose service is down does not make the next leaders repeat what the other notifiers have got.
func TestABrokenNotifierRepeatsNoMessageOfTheOthers(t *testing.T) {
	j := defined()
	j.Spec.Notify = job.Notify{"ops": {URL: "x", Repeat: 1}, "pager": {URL: "y", Repeat: 1}}
	history := []*job.Run{ended("1", job.Failed, 10), ended("2", job.Succeeded, 11)}
	first := book(6, j)
	for _, r := range history {
		first.Apply(change(r))
	}
	first.Apply(job.Change{Kind: job.RecordJob, Name: "other", Rev: 12}) // all of revision 11 has come
	for _, n := range first.Take() {
		first.Done(n.Receipt, "ops")
	}
	if got := record(first, later); got != nil {
		t.Errorf("pager may answer soon: got the record %+v, want none yet", got)
	}
	told := record(first, later.Add(3*time.Second))
	if told == nil || told.UpTo != 0 || told.Ahead["ops"] != 11 {
		t.Fatalf("got the record %+v, want nothing up to 0, and ops ahead at 11", told)
	}

	second := book(20, j)
	second.Open(j, told, history, nil)
	open := second.Take()
	if diff := cmp.Diff([]string{"pager failure 1", "pager recovery 2"}, summarize(open)); diff != "" {
		t.Errorf("the second leader (-want +got):\n%s", diff)
	}
	history = append(history, ended("3", job.Failed, 21))
	second.Apply(change(history[2]))
	news := second.Take()
	if diff := cmp.Diff([]string{"ops failure 3", "pager failure 3"}, summarize(news)); diff != "" {
		t.Errorf("after another failure (-want +got):\n%s", diff)
	}
	second.Done(open[0].Receipt, "pager")
	told = record(second, later.Add(4*time.Second))

	third := book(40, j)
	third.Open(j, told, history, nil)
	if diff := cmp.Diff([]string{"pager recovery 2", "ops failure 3", "pager failure 3"}, summarize(third.Take())); diff != "" {
		t.Errorf("the third leader (-want +got):\n%s", diff)
	}

	second.Done(open[1].Receipt, "pager")
	second.Done(news[0].Receipt, "ops")
	second.Done(news[0].Receipt, "pager")
	if told = record(second, later.Add(5*time.Second)); told == nil || told.UpTo != 21 || len(told.Ahead) != 0 {
		t.Errorf("after all: got the record %+v, want everything up to 21, and nobody ahead", told)
	}
}

// The changes of one revision may come one after the other, with a record between them.
func TestAheadLeavesOutTheLastRevision(t *testing.T) {
	j := defined()
	j.Spec.Notify = job.Notify{"ops": {URL: "x", Repeat: 1}, "pager": {URL: "y", Repeat: 1}}
	history := []*job.Run{ended("1", job.Failed, 10), ended("2", job.Failed, 10)}
	first := book(6, j)
	first.Apply(change(history[0]))
	for _, n := range first.Take() {
		first.Done(n.Receipt, "ops")
	}
	record(first, later)
	told := record(first, later.Add(3*time.Second))
	first.Apply(change(history[1]))
	second := book(20, j)
	second.Open(j, told, history, nil)
	want := []string{"ops failure 1", "pager failure 1", "ops failure 2", "pager failure 2"}
	if diff := cmp.Diff(want, summarize(second.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record that names the targets that are ahead may be the first one of a new definition. It has nothing of the definition before.
func TestAheadSaysNothingOfAnEarlierDefinition(t *testing.T) {
	define := func(pager string) *job.Job {
		j := defined()
		j.Spec.Notify = job.Notify{"ops": {URL: "x"}, "pager": {URL: pager}}
		return j
	}
	j := define("y")
	first := book(6, j)
	first.Apply(change(ended("1", job.Failed, 10)))
	for _, n := range first.Take() {
		first.Done(n.Receipt, "ops")
		first.Done(n.Receipt, "pager")
	}
	record(first, later)
	j = define("z")
	j.Notified = later.Add(time.Minute)
	first.Apply(job.Change{Kind: job.RecordJob, Name: "a", Rev: 15, Value: j})
	r := ended("2", job.Failed, 20)
	r.Finished = later.Add(2 * time.Minute)
	first.Apply(change(r))
	first.Apply(job.Change{Kind: job.RecordJob, Name: "other", Rev: 21})
	for _, n := range first.Take() {
		first.Done(n.Receipt, "ops")
	}
	record(first, later.Add(3*time.Minute))
	told := record(first, later.Add(4*time.Minute))
	second := book(30, j)
	second.Open(j, told, []*job.Run{r}, nil)
	if diff := cmp.Diff([]string{"pager failure 2"}, summarize(second.Take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
