package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// report is the end of one attempt on its way to the store. It is decided once, by the worker that executed the
// attempt, and is sent until the store's answer is definite.
type report struct {
	Run     job.Run       `json:"run"` // as it was claimed
	Rev     int64         `json:"rev"` // Run.Rev, which is not part of its JSON
	Outcome job.Outcome   `json:"outcome"`
	Again   *policy.Retry `json:"again,omitempty"` // nil: the run has ended

	place string // its key in the journal; "": it was never there
}

// size says what a report leaves out so that its record fits into the store.
type size int

const (
	whole         size = iota
	withoutOutput      // of the attempt
	withoutInput       // nor the run's payload; so it is the run's end
)

// newReport makes the report of an attempt that ended with outcome o. notBegun says that the attempt's work never began; now is the
// leader's time.
func newReport(run job.Run, spec *job.Spec, o job.Outcome, notBegun bool, now time.Time, random float64) *report {
	r := &report{Run: run, Rev: run.Rev}
	r.Outcome, r.Again = policy.DecideRetry(policy.EndedAttempt{
		Spec: spec, Run: &r.Run, Outcome: checked(o, now), NotBegun: notBegun, Now: now, Random: random,
	})
	return r
}

// maxReason is how much of the reason for an attempt's end is kept, in bytes: a Go handler's error may be of any length, and
// the record keeps that of many attempts.
const maxReason = 1 << 10

// checked makes sure that an outcome ends the attempt and fits into the record, whatever an executor returns.
func checked(o job.Outcome, now time.Time) job.Outcome {
	switch o.State {
	case job.Succeeded, job.Failed, job.TimedOut, job.Canceled, job.Lost:
	default:
		o = job.Outcome{State: job.Failed, Reason: fmt.Sprintf("executor ended with the impossible state %q", o.State), Output: o.Output}
	}
	if o.At.IsZero() {
		o.At = now
	}
	o.At = o.At.UTC().Round(0) // as it comes back from the store, to be recognized
	if len(o.Reason) > maxReason {
		o.Reason = strings.ToValidUTF8(o.Reason[:maxReason], "") + "…"
	}
	if over := len(o.Output) - job.OutputTail; over > 0 {
		o.Output = o.Output[over:]
	}
	return o
}

// encode is the report's JSON. It leaves <, > and & as they are, as the store does: a payload comes back byte for byte.
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

// key is unique to the attempt.
func (r *report) key() string { return r.Run.Name() + "@" + strconv.FormatInt(r.Run.Token, 10) }

// apply moves current, the attempt's record as it stands, to where the report says.
func (r *report) apply(current job.Run, leave size) (job.Run, error) {
	o, retry := r.Outcome, r.Again
	if leave >= withoutOutput {
		o.Output = ""
	}
	if leave >= withoutInput {
		current.Payload = nil
		if retry != nil {
			retry, o.Reason = nil, policy.JoinReasons(o.Reason, "not tried again, since its record is too large for the store")
		}
	}
	if current.Cancel != nil {
		if o.State == job.Lost { // we killed what somebody wanted to end
			o.State = job.Canceled
		}
		if o.State == job.Canceled {
			o.Reason = policy.JoinReasons(o.Reason, current.Cancel.Reason)
		}
		retry = nil
	}
	if retry != nil {
		return current.Again(o, retry.Due, retry.Reason)
	}
	return current.Finish(o)
}

// open says whether record is still in the attempt that the report ends.
func (r *report) open(record *job.Run) bool {
	// The start as well: in a store that was restored from a backup, another attempt may have been given the same token.
	return record.State == job.Running && record.Token == r.Run.Token && record.Started.Equal(r.Run.Started)
}

// told says whether record already has the report: an earlier send of it was applied without our hearing.
func (r *report) told(record *job.Run) bool {
	for _, a := range record.Attempts {
		if a.Token == r.Run.Token {
			return a.Finished.Equal(r.Outcome.At) && !a.GivenUp
		}
	}
	return false
}

// begun says whether the attempt had begun when it ended.
func (r *report) begun() bool {
	switch r.Outcome.State {
	case job.Succeeded, job.Failed:
		return true
	}
	return !strings.Contains(r.Outcome.Reason, job.NotBegun)
}

// tooLate is the event that tells of an outcome that came too late for record.
func (r *report) tooLate(record *job.Run) job.Event {
	reason := "the run is gone"
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
		Reason:  fmt.Sprintf("attempt %d ended %s after it had been given up: %s", r.Run.Attempt, r.Outcome.State, reason),
		Run:     r.Run.Name(),
		Attempt: r.Run.Attempt,
		Token:   r.Run.Token,
		Worker:  r.Run.Worker,
		State:   r.Outcome.State,
	}
}
