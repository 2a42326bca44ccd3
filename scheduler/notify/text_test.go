package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

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
	b.Apply(job.Change{Kind: job.RecordEvent, Name: "a/e", Rev: e.Rev, Value: e})
	var got strings.Builder
	for _, n := range b.Take() {
		fmt.Fprintf(&got, "%s\n\n", n.Message(n.To[0].Occasion, strings.Repeat("noise\n", 50)+"it broke\n", "http://q1:8470").Text())
	}
	want := `rota: job a failed
run: a/2026-11-22T04:00:00Z
slot: 2026-11-22T04:00:00Z
state: failed
reason: exit status 3; gave up after 2 retries
attempt: 3, on worker w1
ended: 2026-11-22T05:00:00Z
http://q1:8470/v1/runs/a/2026-11-22T04:00:00Z
output ends with:
` + strings.Repeat("noise\n", 19) + `it broke

rota: job a succeeds again
run: a/y
slot: 2026-11-22T04:00:00Z
state: succeeded
last failure: a/2026-11-22T04:00:00Z
attempts: 1
ended: 2026-11-22T05:00:11Z
http://q1:8470/v1/runs/a/y

rota: attempt 1 of a run of job a was given up
run: a/x
slot: 2026-11-22T04:00:00Z
state: pending
reason: tried again after losing worker w1
given up: attempt 1 on worker w1: worker w1 was lost
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
	if m.Title != "rota: 37 more notifications" || !strings.HasPrefix(m.Body, "failure: 30, lost: 7\n- job a failed (a/1)") || !strings.HasSuffix(m.Body, "\n- and 17 others: see rota runs") {
		t.Errorf("got %q, %.100q … %q", m.Title, m.Body, m.Body[len(m.Body)-100:])
	}
	if len(m.Text()) > 5000 {
		t.Errorf("%d bytes", len(m.Text()))
	}
}

func TestSchemesAreSorted(t *testing.T) {
	if !slices.IsSorted(notify.Schemes()) {
		t.Error("the schemes are not sorted")
	}
}
