package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

func sampleReport(n int) *report {
	exit := 3
	at := time.Date(2026, 11, 21, 2, 30, 0, 5, time.UTC)
	run := job.Run{
		Job: "backup", ID: fmt.Sprint(n), Kind: job.KindScheduled, Slot: at, Due: at, State: job.Running, Attempt: 1,
		Worker: "w1", Session: "s1", Token: int64(n), Started: at, Created: at, Rev: int64(n + 1),
	}
	return &report{
		Run: run, Rev: run.Rev,
		Outcome: job.Outcome{State: job.Failed, At: at, Reason: "exit code 3", Exit: &exit, Output: "x"},
		Again:   &policy.Retry{Due: at.Add(time.Minute), Reason: "retry 1 of 3"},
	}
}

// TestAnOutcomeFitsOneAttempt compares attempts with the same token: a store that was restored from a backup issues tokens again.
func TestAnOutcomeFitsOneAttempt(t *testing.T) {
	began := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &report{Run: job.Run{Job: "j", ID: "i", State: job.Running, Token: 7, Started: began}}
	same, other := r.Run, r.Run
	other.Started = began.Add(time.Hour)
	if !r.open(&same) || r.open(&other) {
		t.Errorf("open: got %t for its own attempt and %t for another one with its token", r.open(&same), r.open(&other))
	}
}

// TestAReportIsAppliedToItsRecord leaves parts out, or applies the report to a run whose cancellation was requested.
func TestAReportIsAppliedToItsRecord(t *testing.T) {
	r := sampleReport(1)
	r.Run.Payload = json.RawMessage(`{"month":1}`)
	apply := func(cancel *job.Cancel, leaveOut trim) (job.Run, string) {
		t.Helper()
		current := r.Run
		current.Cancel = cancel
		next, err := r.apply(current, leaveOut)
		if err != nil || len(next.Attempts) != 1 {
			t.Fatalf("got %+v (%v), want one attempt", next, err)
		}
		return next, next.Output
	}
	if next, output := apply(nil, trimNothing); next.State != job.Pending || output == "" || next.Payload == nil {
		t.Errorf("whole: got %+v, want a retry with output and payload", next)
	}
	if next, output := apply(nil, trimOutput); next.State != job.Pending || output != "" || next.Payload == nil {
		t.Errorf("without output: got %+v, want a retry with the payload", next)
	}
	const cut = "too large"
	if next, _ := apply(nil, trimPayload); next.State != job.Failed || next.Payload != nil || !strings.Contains(next.Reason, cut) {
		t.Errorf("without payload: got %+v, want the end of the run, with the reason", next)
	}
	r.Again = nil
	if next, _ := apply(nil, trimPayload); next.State != job.Failed || strings.Contains(next.Reason, cut) {
		t.Errorf("of a run without a retry: got the reason %q", next.Reason)
	}
	r.Outcome.State = job.Lost
	next, _ := apply(&job.Cancel{Reason: "enough"}, trimNothing)
	if next.State != job.Canceled || !strings.Contains(next.Reason, "enough") {
		t.Errorf("a canceled run whose attempt was killed: got %s, %q, want it canceled", next.State, next.Reason)
	}
}

func TestReportsEncodeAsEncodingJSONDoes(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	exit := 3
	for name, r := range map[string]report{
		"usual":   {Run: job.Run{Job: "a", ID: "b", Slot: at, Due: at, Created: at}, Rev: 7, Outcome: job.Outcome{State: job.Succeeded, At: at}},
		"again":   {Run: job.Run{Job: "a", ID: "b"}, Outcome: job.Outcome{At: at}, Again: &policy.Retry{Due: at, Reason: "x"}},
		"payload": {Run: job.Run{Job: "a", Payload: json.RawMessage(`{}`)}, Outcome: job.Outcome{At: at, Exit: &exit}},
		"strange": {Run: job.Run{Job: "a"}, Outcome: job.Outcome{At: at, Output: "\x00 <ü>"}},
	} {
		got, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("%s:\n got %s\nwant %s", name, got, &want)
		}
	}
}

// TestAllocationsOfAnOutcome bounds the allocations of an outcome on its way to the journal.
func TestAllocationsOfAnOutcome(t *testing.T) {
	r := sampleReport(1)
	r.Again = nil
	got := testing.AllocsPerRun(100, func() {
		if _, err := r.encode(); err != nil {
			t.Error(err)
		}
	})
	if got > 1 {
		t.Errorf("its value: %.0f allocations, want 1", got)
	}
}
