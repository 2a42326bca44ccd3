package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// report is the end of one attempt on its way to the store. The worker that executed the attempt decides it once, and sends
// it until the store's answer is definite. The exported fields are its form in the journal.
type report struct {
	Run     job.Run       `json:"run"` // the record after the claim
	Rev     int64         `json:"rev"` // the revision Run.Rev, which the JSON of a run leaves out
	Outcome job.Outcome   `json:"outcome"`
	Again   *policy.Retry `json:"again,omitempty"` // nil: the run has ended

	ended     time.Time       // when the attempt ended, by this process; zero: an earlier process executed it
	entry     *journalEntry   // nil: it is not in the journal
	journaled bool            // it is certainly in the journal
	ctx       context.Context // ends the delivery
	outlives  bool            // it is in Worker.ending
	blocked   bool            // the run's record is unreadable, and delivery waits for its repair.
	countedIn *tally          // Worker.unsent or Worker.blocked
}

// newReport makes the report of an attempt that ended with the checked outcome o. notBegun says that its work never began;
// now is the leader's time.
func newReport(run job.Run, spec *job.Spec, o job.Outcome, notBegun bool, now time.Time, random float64) *report {
	r := &report{Run: run, Rev: run.Rev}
	r.Outcome, r.Again = policy.DecideRetry(policy.EndedAttempt{
		Spec: spec, Run: &r.Run, Outcome: o, NotBegun: notBegun, Now: now, Random: random,
	})
	return r
}

// maxReason is the longest reason of an attempt that is recorded, in bytes. The error of a Go handler may have any length,
// and a record holds the reasons of many attempts.
const maxReason = 1 << 10

// checked returns o with a terminal state, a time, and texts that fit into the record. The executor may have returned anything.
func checked(o job.Outcome, now time.Time) job.Outcome {
	switch o.State {
	case job.Succeeded, job.Failed, job.TimedOut, job.Canceled, job.Lost:
	default:
		reason := fmt.Sprintf("executor ended with the impossible state %q", o.State)
		o = job.Outcome{State: job.Failed, Reason: reason, Output: o.Output}
	}
	if o.At.IsZero() {
		o.At = now
	}
	o.At = o.At.UTC().Round(0) // in the form in which the store returns it, so that fateIn recognizes it
	if len(o.Reason) > maxReason {
		o.Reason = strings.ToValidUTF8(o.Reason[:maxReason], "") + "…"
	}
	if over := len(o.Output) - job.OutputTail; over > 0 {
		o.Output = o.Output[over:]
	}
	return o
}

// encode returns the report's JSON. Like the store it does not escape <, > and &, so that a payload keeps its bytes.
func (r *report) encode() ([]byte, error) {
	if r.Again == nil {
		run, ok := r.Run.AppendJSON(append(make([]byte, 0, 1024), `{"run":`...))
		run = strconv.AppendInt(append(run, `,"rev":`...), r.Rev, 10)
		if all, also := r.Outcome.AppendJSON(append(run, `,"outcome":`...)); ok && also {
			return append(all, '}'), nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// key returns a name that is unique to the attempt.
func (r *report) key() string { return r.Run.Name() + "@" + strconv.FormatInt(r.Run.Token, 10) }

// trim says which parts a report leaves out so that its record fits into the store.
type trim int

const (
	trimNothing trim = iota
	trimOutput       // leave out the attempt's output
	trimPayload      // also leave out the run's payload, so the run ends
)

// apply returns current, the record of the attempt, with the report applied to it.
func (r *report) apply(current job.Run, leaveOut trim) (job.Run, error) {
	o, retry := r.Outcome, r.Again
	if leaveOut >= trimOutput {
		o.Output = ""
	}
	if leaveOut >= trimPayload {
		current.Payload = nil
		if retry != nil {
			retry, o.Reason = nil, policy.JoinReasons(o.Reason, "not tried again, since its record is too large for the store")
		}
	}
	if current.Cancel != nil {
		if o.State == job.Lost { // the worker killed an attempt whose cancellation was requested
			o.State = job.Canceled
		}
		if o.State == job.Canceled {
			o.Reason = policy.JoinReasons(o.Reason, current.Cancel.Reason)
		}
		retry = nil
	}
	if retry != nil {
		return current.Requeue(o, retry.Due, retry.Reason)
	}
	return current.Finish(o)
}

// open reports whether record still shows the attempt that the report ends as executing.
func (r *report) open(record *job.Run) bool {
	// The start counts too: a store that was restored from a backup may have given the same token to another attempt.
	return record.State == job.Running && record.Token == r.Run.Token && record.Started.Equal(r.Run.Started)
}

// fate is what the store has made of a report that it refuses.
type fate int

const (
	forgotten fate = iota // nothing shows it any more
	taken                 // it has applied an earlier send
	givenUp               // the attempt had ended in another way before
)

// fateIn returns what record says about r. It is forgotten if record does not list the attempt: a record has no room for very many.
func (r *report) fateIn(record *job.Run) fate {
	for _, a := range record.Attempts {
		switch {
		case a.Token != r.Run.Token:
		case a.Finished.Equal(r.Outcome.At) && !a.GivenUp:
			return taken
		default:
			return givenUp
		}
	}
	return forgotten
}

// begun reports whether the attempt's work had begun when the attempt ended.
func (r *report) begun() bool {
	switch r.Outcome.State {
	case job.Succeeded, job.Failed:
		return true
	}
	return !strings.Contains(r.Outcome.Reason, job.NotBegun)
}

// fencedEvent returns the event of an outcome that has no effect on record. If record is zero, the run is gone.
func (r *report) fencedEvent(record *job.Run, known fate) job.Event {
	why, reason := " after it had been given up", "the run is gone"
	if known == forgotten {
		why = ", but " + job.FateForgotten
	}
	if record.ID != "" {
		reason = fmt.Sprintf("the run is %s, attempt %d", record.State, record.Attempt)
		if record.Worker != "" {
			reason += " on worker " + record.Worker
		}
	}
	return job.Event{
		ID:      job.EventID(r.Outcome.At, fmt.Sprintf("fenced-%d", r.Run.Token)),
		Kind:    job.EventFenced,
		Job:     r.Run.Job,
		At:      r.Outcome.At,
		Reason:  fmt.Sprintf("attempt %d ended %s%s: %s", r.Run.Attempt, r.Outcome.State, why, reason),
		Run:     r.Run.Name(),
		Attempt: r.Run.Attempt,
		Token:   r.Run.Token,
		Worker:  r.Run.Worker,
		State:   r.Outcome.State,
	}
}
