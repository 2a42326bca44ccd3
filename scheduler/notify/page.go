package notify

import (
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// page is what a book knows of one job.
type page struct {
	job     *job.Job
	seen    int64          // changes up to this revision are in
	failing string         // the run that failed last, if none has succeeded since; as of seen
	given   map[string]int // the last attempt that was given up, by runs that have not ended; as of seen
	open    []*Notice      // those not settled, and those behind them, in the order of revisions
	gone    bool           // the job is, or nobody is told of it any more

	told    job.Told       // as it is to be written; Rev is that of the record that is there
	settled map[string]int // what of given is told
	writing bool
}

// judge says what a run's record tells, and to what state it brings the job.
func (p *page) judge(n *Notice) {
	r := n.Run
	if last := lastGivenUp(r, p.job.Notified.Add(-slack)); last > p.given[r.ID] {
		n.Attempt = last
	}
	switch r.State {
	case job.Failed, job.TimedOut:
		n.Occasions = append(n.Occasions, job.OnFailure)
		p.failing = r.ID
	case job.Lost:
		n.Occasions = append(n.Occasions, job.OnLost)
		p.failing = r.ID
	case job.Succeeded:
		if p.failing != "" {
			n.Occasions, n.After = append(n.Occasions, job.OnRecovery), p.failing
			p.failing = ""
		}
	case job.Skipped:
		if policy.IsMissed(r.Reason) {
			n.Occasions = append(n.Occasions, job.OnMissed)
		}
	}
	if n.Attempt > 0 && r.State != job.Lost {
		n.Occasions = append(n.Occasions, job.OnLost)
	}
	switch {
	case r.State.Terminal():
		delete(p.given, r.ID)
	case n.Attempt > 0:
		if p.given == nil {
			p.given = make(map[string]int)
		}
		p.given[r.ID] = n.Attempt
	}
}

// atRest says whether a page has nothing that the store does not have.
func (p *page) atRest() bool {
	return len(p.open) == 0 && len(p.given) == 0 && p.failing == "" && !p.writing
}

// troubled says whether a run's record alone may be something to tell.
func troubled(r *job.Run) bool {
	switch r.State {
	case job.Failed, job.TimedOut, job.Lost:
		return true
	case job.Skipped:
		return policy.IsMissed(r.Reason)
	}
	return slices.ContainsFunc(r.Attempts, func(a job.Attempt) bool { return a.GivenUp })
}

// missed says whether slots were passed over since nobody could dispatch.
func missed(e *job.Event) bool { return e.Kind == job.EventSkipped && policy.IsMissed(e.Reason) }

// lastGivenUp is the number of the last of r's attempts that was given up since an instant; 0 if there is none.
func lastGivenUp(r *job.Run, since time.Time) (last int) {
	for _, a := range r.Attempts {
		if a.GivenUp && !a.Finished.Before(since) {
			last = max(last, a.Number)
		}
	}
	return last
}

// pass moves what is told up to n.
func (p *page) pass(n *Notice) {
	p.told.UpTo = max(p.told.UpTo, n.Rev)
	p.told.Failing = n.failing
	if n.Attempt > 0 {
		if p.settled == nil {
			p.settled = make(map[string]int)
		}
		p.settled[n.Run.ID] = n.Attempt
	}
}

// mark is the record that says so. Of runs that have ended the revision says enough.
func (p *page) mark(now time.Time) job.Told {
	maps.DeleteFunc(p.settled, func(id string, _ int) bool { return p.given[id] == 0 })
	t := p.told
	t.Job, t.At, t.Attempts = p.job.Name, now.UTC(), maps.Clone(p.settled)
	return t
}

// found takes over the record that is there, whoever wrote it.
func (p *page) found(c job.Change) {
	if c.Rev <= p.told.Rev {
		return
	}
	p.told.Rev = c.Rev
	if c.Deleted() {
		p.told.Rev = 0
	}
}
