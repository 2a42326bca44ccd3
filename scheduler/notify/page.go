package notify

import (
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// page holds the state of one job in a book.
type page struct {
	job     *job.Job
	seen    int64            // changes up to this revision are applied
	state   state            // at revision seen
	givenUp map[string]int   // at revision seen: for each run that has not ended, the number of the last attempt that was given up
	begun   map[string]bool  // the runs that have not ended and whose start has its ping; nil without pings
	late    map[string]bool  // the runs that have not ended and whose slot is recorded as late; nil: there is none
	open    []*Receipt       // of the first notice that is not done, and of all later ones, by revision
	ahead   map[string]int64 // as in the record with which the page was opened
	partly  time.Time        // when a target first had a notice that another one had not; zero: there is none
	gone    bool             // the job was deleted, or has no notifiers any more

	record   job.NotifyState // the record to be written; Rev is that of the record in the store
	before   *state          // the failures before the first notice of revision record.UpTo; nil: that is not known
	reported map[string]int  // the entries of givenUp that were reported
	writing  bool
}

// evaluate sets the occasions of a notice from its run, and updates the job's state.
func (p *page) evaluate(n *Notice) {
	r := n.Run
	if last := lastGivenUp(r, p.job.Notified.Add(-slack)); last > p.givenUp[r.ID] {
		n.Attempt = last
	}
	switch r.State {
	case job.Failed, job.TimedOut:
		n.Occasions = append(n.Occasions, job.OnFailure)
		p.state.failing, p.state.failures = r.ID, p.state.failures+1
		n.Failures = p.state.failures
	case job.Lost:
		n.Occasions = append(n.Occasions, job.OnLost)
		p.state.failing, p.state.failures = r.ID, p.state.failures+1
		n.Failures = p.state.failures
	case job.Succeeded:
		if p.state.failing != "" {
			n.Occasions, n.After, n.Failures = append(n.Occasions, job.OnRecovery), p.state.failing, p.state.failures
			p.state.failing, p.state.failures = "", 0
		}
	case job.Skipped:
		if policy.IsMissed(r.Reason) {
			n.Occasions = append(n.Occasions, job.OnMissed)
		}
	}
	if r.State.Terminal() && p.isLate(r) && !p.late[r.ID] {
		n.Occasions = append(n.Occasions, job.OnLate)
	}
	if n.Attempt > 0 && r.State != job.Lost {
		n.Occasions = append(n.Occasions, job.OnLost)
	}
	if isStuck(r) {
		n.Occasions = append(n.Occasions, job.OnStuck)
	}
	switch {
	case r.State.Terminal():
		delete(p.givenUp, r.ID)
		delete(p.late, r.ID)
	case n.Attempt > 0:
		set(&p.givenUp, r.ID, n.Attempt)
	}
}

// slack is the largest difference between the clocks that set the end of a run and the time of a definition.
const slack = 2 * time.Second

// isLate is the function isLate for the job of the page.
func (p *page) isLate(r *job.Run) bool { return isLate(p.job, r) }

// isLate reports whether a run that has ended did not succeed by the finish_by of its job. A run that was canceled or skipped by a
// policy is not late.
func isLate(j *job.Job, r *job.Run) bool {
	by, ok := policy.FinishBy(j.Spec, r.Slot)
	if !ok || r.Kind != job.KindScheduled {
		return false
	}
	switch r.State {
	case job.Succeeded:
		return r.Ended().After(by)
	case job.Skipped:
		return policy.IsMissed(r.Reason)
	}
	return r.State.IsFailure()
}

// setLate remembers a late slot, so that the late end of its run is no second occasion.
func (p *page) setLate(e *job.Event) {
	if p.late == nil {
		p.late = make(map[string]bool, 1)
	}
	p.late[job.SlotID(e.From)] = true
}

// skips reports whether the slot of the run id is among the slots that the event e skips. Then it will have no run.
func skips(e *job.Event, id string) bool {
	slot, err := time.Parse(time.RFC3339Nano, id)
	return e.Kind == job.EventSkipped && err == nil && !slot.Before(e.From) && !slot.After(e.To)
}

// isStuck reports whether an attempt of the run goes on after its timeout.
func isStuck(r *job.Run) bool { return r.State == job.Running && r.Reason == policy.Overdue }

// set sets a value in a map that may be nil.
func set(m *map[string]int, key string, value int) {
	if *m == nil {
		*m = make(map[string]int)
	}
	(*m)[key] = value
}

// isIdle reports whether the store has everything that the page holds.
func (p *page) isIdle() bool {
	return len(p.open) == 0 && len(p.givenUp) == 0 && len(p.begun) == 0 && len(p.late) == 0 && p.state.quiet() && !p.writing
}

// isSilent reports whether r is a copy that needs no notice: the notice of the run on every worker names its worker. Only a copy
// that is stuck has one of its own.
func isSilent(r *job.Run) bool { return r.Kind == job.KindCopy && !isStuck(r) }

// mayReport reports whether a run may need a notice. It looks only at the run's record.
func mayReport(r *job.Run) bool {
	switch {
	case isSilent(r):
		return false
	case r.State == job.Skipped:
		return policy.IsMissed(r.Reason)
	}
	return r.State.IsFailure() || isStuck(r) || slices.ContainsFunc(r.Attempts, func(a job.Attempt) bool { return a.GivenUp })
}

// mostAfter returns the number of failures in a row after which all notifiers have a message.
func mostAfter(to job.Notify) (most int) {
	for _, notifier := range to {
		most = max(most, notifier.FirstAt())
	}
	return most
}

// isMissed reports whether the event skipped slots by the missed policy.
func isMissed(e *job.Event) bool { return e.Kind == job.EventSkipped && policy.IsMissed(e.Reason) }

// lastGivenUp returns the number of the last attempt of r that was given up at since or later; 0 if there is none.
func lastGivenUp(r *job.Run, since time.Time) (last int) {
	for _, a := range r.Attempts {
		if a.GivenUp && !a.Finished.Before(since) {
			last = max(last, a.Number)
		}
	}
	return last
}

// advance moves the record past the notice of r, which is done.
func (p *page) advance(r *Receipt) {
	if r.rev > p.record.UpTo {
		p.before = &state{failing: p.record.Failing, failures: p.record.Failures}
	}
	p.record.UpTo = max(p.record.UpTo, r.rev)
	p.record.Failing, p.record.Failures, p.record.Said = r.state.failing, r.state.failures, r.state.said
	if r.attempt > 0 {
		set(&p.reported, r.run, r.attempt)
	}
}

// resetRecord drops the state of an earlier definition from the record. A record that is written before the next notice is done
// would otherwise count as one of the present definition.
func (p *page) resetRecord() {
	p.record.Failing, p.record.Failures, p.record.Said, p.before = "", 0, nil, nil
}

// retreat moves the record back before the notices of its revision, because another one is open. The next leader counts the
// failures of that revision again.
func (p *page) retreat() {
	p.record.UpTo--
	if p.before != nil {
		p.record.Failing, p.record.Failures = p.before.failing, p.before.failures
	}
}

// nextRecord returns the record to write at revision last. It leaves out attempts of runs that have ended, because UpTo covers
// them.
func (p *page) nextRecord(now time.Time, last int64) job.NotifyState {
	maps.DeleteFunc(p.reported, func(id string, _ int) bool { return p.givenUp[id] == 0 })
	t := p.record
	t.Job, t.At, t.Attempts, t.Ahead = p.job.Name, now.UTC(), maps.Clone(p.reported), p.aheadNow(last)
	return t
}

// applyRecord applies a change of the record in the store. Anybody may have written that record.
func (p *page) applyRecord(c job.Change) {
	if c.Rev <= p.record.Rev {
		return
	}
	p.record.Rev = c.Rev
	if c.Deleted() {
		p.record.Rev = 0
	}
}
