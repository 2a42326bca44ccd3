package history

import (
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// witnessed reports whether the target saw the last attempt of r end well.
func witnessed(r job.Run, es []Effect) bool {
	return slices.ContainsFunc(es, func(e Effect) bool { return e.Token == r.Token && e.Well })
}

// checkOutcome checks that the end of e is recorded if the target saw it. If e ended well, the recorded end must be a success.
func (t *timeline) checkOutcome(run string, vs []runVersion, e Effect) {
	r := last(vs)
	if e.Ended.IsZero() {
		return
	}
	what := fmt.Sprintf("its target saw attempt %d end at %s", e.Attempt, stamp(e.Ended))
	if e.Well {
		what = fmt.Sprintf("its target saw attempt %d end well at %s", e.Attempt, stamp(e.Ended))
	}
	if !r.State.Terminal() && r.Token == e.Token {
		t.report(RuleOutcome, run, what+", but its record does not say so: "+describe(vs))
	}
	if a, ended := attemptOf(r, e.Token); ended && !t.mayDiffer(r, a, e) {
		t.report(RuleOutcome, run, fmt.Sprintf("%s, but it is recorded as %s (%s): %s", what, a.State, a.Reason, describe(vs)))
	}
}

// mayDiffer reports whether the recorded end of an attempt of r may differ from the end that its target saw.
func (t *timeline) mayDiffer(r job.Run, a job.Attempt, e Effect) bool {
	switch a.State {
	case job.Succeeded: // witnessed judges those
		return true
	case job.Canceled:
		return r.Cancel != nil
	case job.Failed, job.TimedOut:
		if !e.Well || a.State == job.TimedOut && t.atTimeout(r, e) {
			return true
		}
	}
	return r.Cancel != nil || t.costs(a.Worker, e)
}

// atTimeout reports whether an effect lasted until about the timeout of its attempt, or longer. Its end and the timeout may
// then coincide. It also returns true if the timeout is unknown: for a job that was edited, and for one with a heartbeat.
func (t *timeline) atTimeout(r job.Run, e Effect) bool {
	j := t.expected[r.Job]
	spec := &j.Spec
	if r.Spec != nil {
		spec = r.Spec
	}
	return j.Edited || spec.Heartbeat > 0 || spec.Timeout == 0 || e.Ended.Sub(e.Arrived) >= spec.Timeout.Std()-t.Slack/settles
}

// attemptOf returns the attempt of r with a token, if it has ended.
func attemptOf(r job.Run, token int64) (job.Attempt, bool) {
	i := slices.IndexFunc(r.Attempts, func(a job.Attempt) bool { return a.Token == token })
	if i < 0 {
		return job.Attempt{}, false
	}
	return r.Attempts[i], true
}

// cost reports whether the outcome of an execution on worker may have been lost in the fault f.
func (t *timeline) cost(f Fault, worker string, e Effect) bool {
	if f.Kind == Stop || f.Kind == Deaf || f.Node != "" && f.Node != worker {
		return false
	}
	until := f.At
	if f.Kind.Lasts() {
		until = f.Until
	}
	began := until.IsZero() || !e.Arrived.After(until.Add(t.Slack))
	return began && (e.Ended.IsZero() || !e.Ended.Before(f.At.Add(-t.Slack)))
}

// costs reports whether the outcome of an execution on worker may have been lost in any fault.
func (t *timeline) costs(worker string, e Effect) bool {
	return slices.ContainsFunc(t.Faults, func(f Fault) bool { return t.cost(f, worker, e) })
}

// excused reports whether a fault explains that the last attempt of a run lost its worker. The attempt lasts from the earlier
// of its recorded start and the recorder's time to the later of both ends. The worker's clock may be wrong, and the recorder
// may have got the records late.
func (t *timeline) excused(vs []runVersion) bool {
	r := last(vs)
	if len(r.Attempts) == 0 {
		return false
	}
	a := r.Attempts[len(r.Attempts)-1]
	e := Effect{Arrived: a.Started, Ended: a.Finished}
	for i, v := range vs {
		switch {
		case v.Seen.IsZero():
		case v.begins(vs[:i]) && v.run.Token == a.Token:
			e.Arrived = earlier(e.Arrived, v.Seen)
		case i > 0 && vs[i-1].run.State == job.Running && vs[i-1].run.Token == a.Token && v.run.State != job.Running:
			e.Ended = job.Later(e.Ended, v.Seen)
		}
	}
	return t.costs(a.Worker, e)
}
