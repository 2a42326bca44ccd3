package verify

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkOutcome looks whether a run stands as its attempts have ended.
func (c *checker) checkOutcome(s *subject, r *job.Run) {
	for i, a := range r.Attempts {
		last := i == len(r.Attempts)-1
		if !last && a.Number >= r.Attempts[i+1].Number {
			c.broken(1, r.Name(), r.Rev, "attempt %d follows attempt %d", r.Attempts[i+1].Number, a.Number)
		}
		over := last && r.State.Terminal()
		switch {
		case over:
		case a.State == job.Succeeded, a.State == job.Canceled:
			c.broken(6, r.Name(), r.Rev, "attempt %d is %s, and the run went on", a.Number, a.State)
		case lostAtWork(&a) && atMostOnce(s.def, r):
			c.broken(6, r.Name(), r.Rev, "attempt %d was lost, and the run went on, though its delivery is at_most_once", a.Number)
		}
	}
	switch r.State {
	case job.Succeeded, job.Failed, job.TimedOut, job.Lost:
		c.checkLast(r)
	case job.Skipped:
		if len(r.Attempts) > 0 || !r.Started.IsZero() {
			c.broken(5, r.Name(), r.Rev, "it is skipped, and has begun")
		}
		if r.Reason == "" {
			c.broken(5, r.Name(), r.Rev, "it is skipped, and does not say why")
		}
	}
}

// checkLast looks whether a run ended as its last attempt did.
func (c *checker) checkLast(r *job.Run) {
	if len(r.Attempts) == 0 {
		c.broken(3, r.Name(), r.Rev, "it is %s without an attempt", r.State)
		return
	}
	switch last := r.Attempts[len(r.Attempts)-1]; {
	case last.State != r.State:
		c.broken(3, r.Name(), r.Rev, "it is %s, and its last attempt, %d, is %s", r.State, last.Number, last.State)
	case !last.Finished.Equal(r.Finished), last.Number != r.Attempt:
		c.broken(3, r.Name(), r.Rev, "it ended with attempt %d at %s, and its last attempt is %d, at %s",
			r.Attempt, job.SlotID(r.Finished), last.Number, job.SlotID(last.Finished))
	}
}

// lostAtWork says whether the worker of an attempt was lost when the work had begun, as far as anybody knows.
func lostAtWork(a *job.Attempt) bool {
	return a.State == job.Lost && !strings.Contains(a.Reason, job.NotBegun)
}

// atMostOnce says whether all attempts of a run are known to be of a job that may not be repeated. A definition that was
// edited may have been another one at the time.
func atMostOnce(def *job.Job, r *job.Run) bool {
	switch {
	case r.Spec != nil:
		return r.Spec.Delivery == job.AtMostOnce
	case def == nil || def.Generation != 1 || r.Created.Before(def.Created):
		return false
	}
	return def.Spec.Delivery == job.AtMostOnce
}

// checkDelivery looks at one change of a run: whether an attempt that was lost is followed by another one, though the
// definition has said from when it was given out that it must not be.
func (l *replay) checkDelivery(before, after *job.Run) {
	name, def := after.Name(), l.defs[after.Job]
	if n := len(after.Attempts); before != nil && before.State == job.Running && !after.State.Terminal() && n > len(before.Attempts) {
		once := def != nil && def.Spec.Delivery == job.AtMostOnce && l.given[name] == def.Generation
		if a := after.Attempts[n-1]; after.Spec == nil && lostAtWork(&a) && once {
			l.broken(6, name, after.Rev, "attempt %d was lost, and the run went on, though its delivery is at_most_once", a.Number)
		}
	}
	if after.State == job.Armed {
		delete(l.given, name)
		if def != nil && def.Spec.Delivery == job.AtMostOnce && def.Generation == after.Generation {
			l.given[name] = def.Generation
		}
	}
}
