package job

import (
	"fmt"
	"slices"
	"time"
)

// TransitionError is returned when the diagram does not allow a transition.
type TransitionError struct {
	Run      string
	From, To State
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("run %s: %s may not become %s", e.Run, e.From, e.To)
}

// move changes r, unlike the exported methods.
func (r *Run) move(to State) error {
	if !r.State.CanBecome(to) {
		return &TransitionError{Run: r.Name(), From: r.State, To: to}
	}
	r.State, r.Reason = to, ""
	return nil
}

// Assign assigns the run to a worker. Only a leader calls it. The revision of its transaction becomes the attempt's fencing token.
func (r Run) Assign(w *Worker) (Run, error) {
	from := r.State
	if err := r.move(Armed); err != nil {
		return r, err
	}
	if from != Armed { // if the attempt has not begun, the next worker takes over its number
		r.Attempt++
	}
	r.Worker, r.Session, r.Token, r.Started, r.Bound = w.Name, w.Session, 0, time.Time{}, 0
	r.Exit, r.Output, r.Outputs = nil, "", nil
	return r, nil
}

// Claim begins the attempt. token is the revision of the record that assigned it.
func (r Run) Claim(token int64, now time.Time) (Run, error) {
	if err := r.move(Running); err != nil {
		return r, err
	}
	r.Token, r.Started, r.Ahead = token, now, false
	return r, nil
}

// Skip ends a run that waits, and that will not run.
func (r Run) Skip(reason string, at time.Time) (Run, error) {
	if err := r.move(Skipped); err != nil {
		return r, err
	}
	r.Reason, r.Finished, r.Late = reason, at, false
	return r, nil
}

// Recall takes an armed run back from its worker, which has not begun it. The attempt does not count.
func (r Run) Recall(reason string) (Run, error) {
	if err := r.move(Pending); err != nil {
		return r, err
	}
	r.Attempt = max(0, r.Attempt-1)
	r.Reason, r.Worker, r.Session, r.Limits = reason, "", "", nil
	return r, nil
}

// Requeue ends the present attempt with an outcome. The run then waits for another attempt, until due at the earliest.
func (r Run) Requeue(o Outcome, due time.Time, reason string) (Run, error) {
	if err := r.move(Pending); err != nil {
		return r, err
	}
	r.close(o)
	r.Reason, r.Due, r.Worker, r.Session, r.Token = reason, due, "", "", 0
	return r, nil
}

// Finish ends the run with the outcome of its present attempt.
func (r Run) Finish(o Outcome) (Run, error) {
	if err := r.move(o.State); err != nil {
		return r, err
	}
	if r.Attempt > 0 && (r.Worker != "" || r.Token != 0) {
		r.close(o)
	}
	r.Reason, r.Finished = o.Reason, o.At
	return r, nil
}

// Stop ends the run at once if no worker has begun it. Otherwise it records a request that the worker ends the run. If
// such a request exists, it returns the run unchanged.
func (r Run) Stop(c Cancel) (Run, error) {
	if r.State == Running {
		if r.Cancel == nil {
			r.Cancel = &c
		}
		return r, nil
	}
	from, asked := r.State, r.AwaitsApproval()
	if err := r.move(Canceled); err != nil {
		return r, err
	}
	if asked { // nobody sets its due time any more
		r.Due = r.Approval.Asked
	}
	if r.Copies != nil { // its copies set it no more
		r.Due = r.Armed
	}
	if from == Armed { // its attempt has not begun, and does not count
		r.Attempt, r.Worker, r.Session, r.Limits = max(0, r.Attempt-1), "", "", nil
	}
	r.Cancel, r.Reason, r.Finished = &c, c.Reason, c.At
	return r, nil
}

// close appends the present attempt to the finished ones. If there are too many, it removes one that has not begun, or the second,
// and counts those that were lost. So an attempt that has begun always shows. close changes r, but not the list of its attempts,
// which other copies share.
func (r *Run) close(o Outcome) {
	kept := r.Attempts
	for len(kept) >= maxAttempts {
		i := 1 + max(0, slices.IndexFunc(kept[1:], func(a Attempt) bool { return !a.HasBegun() }))
		if kept[i].State == Lost {
			r.LostMore++
		}
		kept = slices.Concat(kept[:i], kept[i+1:])
	}
	r.Attempts = append(slices.Clip(kept), Attempt{
		Number: r.Attempt, Worker: r.Worker, Token: r.Token, Started: r.Started,
		Finished: o.At, State: o.State, Reason: o.Reason, Exit: o.Exit,
	})
	r.Exit, r.Output, r.Outputs = o.Exit, o.Output, o.Outputs
}

// GiveUp marks the last attempt as given up by the leader.
func (r Run) GiveUp() Run {
	r.Attempts = slices.Clone(r.Attempts)
	if n := len(r.Attempts); n > 0 {
		r.Attempts[n-1].GivenUp = true
	}
	return r
}
