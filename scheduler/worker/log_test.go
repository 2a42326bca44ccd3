package worker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// onLog is a writer that calls a function with each line.
type onLog func(line string)

func (f onLog) Write(b []byte) (int, error) { f(string(b)); return len(b), nil }

func logTo(f onLog) hclog.Logger { return hclog.New(&hclog.LoggerOptions{Output: f}) }

func TestAnOutcomeDoesNotWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, failing)
		read := make(chan struct{})
		defer close(read) // runs before the worker stops
		r.log = logTo(func(line string) {
			if !strings.Contains(line, "session opened") {
				<-read
			}
		})
		r.start()
		name, _ := r.one()
		after(time.Minute)
		r.wantState(name, job.Failed)
		r.wantJournal(0)
	})
}

func TestTheLogReportsAnUndeliveredOutcome(t *testing.T) {
	for text, writable := range map[string]bool{
		"outcome waits in the journal": true,
		"outcome is lost":              false,
	} {
		bubble(t, text, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			var logged strings.Builder // read after the worker has ended
			r.log = logTo(func(line string) { logged.WriteString(line) })
			r.start()
			r.one()
			after(100 * time.Millisecond)
			r.store.answer(refused)
			if !writable {
				if err := r.journal.Close(); err != nil {
					t.Fatal(err)
				}
			}
			r.finish()
			got := logged.String()
			if !strings.Contains(got, text) || strings.Count(got, "outcome waits")+strings.Count(got, "outcome is lost") != 1 {
				t.Errorf("the log is\n%s\nwant %q once, and no other line about the outcome", got, text)
			}
		})
	}
}

// TestTheLogAccusesNoAttemptThatWasNotClaimed stops a worker while the store answers no claim.
func TestTheLogAccusesNoAttemptThatWasNotClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		var logged strings.Builder // read after the worker has ended
		r.log = logTo(func(line string) { logged.WriteString(line) })
		r.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
		r.start()
		r.store.set(func() { r.store.fault = only("write", refused) })
		r.give(r.store.pending("once", "a", time.Now()))
		after(time.Second)
		r.finish()
		if got := logged.String(); strings.Contains(got, "ignore being stopped") {
			t.Errorf("the log is\n%s\nwant nothing about attempts that ignore being stopped", got)
		}
	})
}
