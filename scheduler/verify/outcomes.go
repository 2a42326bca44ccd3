package verify

import (
	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkOutcome checks that a run's state follows from its attempts.
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
			c.broken(6, r.Name(), r.Rev, "attempt %d is %s, but the run continued", a.Number, a.State)
		case lostAtWork(&a) && atMostOnce(s.def, r):
			c.broken(6, r.Name(), r.Rev, "attempt %d was lost, but the run continued, although its delivery is at_most_once", a.Number)
		}
	}
	switch r.State {
	case job.Succeeded, job.Failed, job.TimedOut, job.Lost:
		if r.Copies == nil {
			c.checkLast(r)
		}
	case job.Skipped:
		if r.HasBegun() || len(r.Attempts) == 0 && !r.Started.IsZero() {
			c.broken(5, r.Name(), r.Rev, "it is skipped, but has begun")
		}
		if r.Reason == "" {
			c.broken(5, r.Name(), r.Rev, "it is skipped without a reason")
		}
	}
}

// checkLast checks that a run ended as its last attempt did.
func (c *checker) checkLast(r *job.Run) {
	if len(r.Attempts) == 0 {
		c.broken(3, r.Name(), r.Rev, "it is %s without an attempt", r.State)
		return
	}
	switch last := r.Attempts[len(r.Attempts)-1]; {
	case last.State != r.State:
		c.broken(3, r.Name(), r.Rev, "it is %s, but its last attempt, %d, is %s", r.State, last.Number, last.State)
	case !last.Finished.Equal(r.Finished), last.Number != r.Attempt:
		c.broken(3, r.Name(), r.Rev, "it ended with attempt %d at %s, but its last attempt is %d, at %s",
			r.Attempt, job.SlotID(r.Finished), last.Number, job.SlotID(last.Finished))
	}
}

// lostAtWork reports whether the worker of an attempt was lost after the work may have begun.
func lostAtWork(a *job.Attempt) bool {
	return a.State == job.Lost && a.HasBegun()
}

// atMostOnce reports whether all attempts of a run certainly had the delivery at_most_once. It returns false for a
// definition that was edited, because it may have had another delivery before.
func atMostOnce(def *job.Job, r *job.Run) bool {
	switch {
	case r.Spec != nil:
		return r.Spec.Delivery == job.AtMostOnce
	case def == nil || def.Generation != 1 || r.Created.Before(def.Created):
		return false
	}
	return def.Spec.Delivery == job.AtMostOnce
}

// checkDelivery checks one change of a run. No attempt may follow a lost one if the definition has had the delivery
// at_most_once since the run was armed.
func (l *replay) checkDelivery(before, after *job.Run) {
	name, def := after.Name(), l.defs[after.Job]
	if n := len(after.Attempts); before != nil && before.State == job.Running && !after.State.Terminal() && n > len(before.Attempts) {
		once := def != nil && def.Spec.Delivery == job.AtMostOnce && l.given[name] == def.Generation
		if a := after.Attempts[n-1]; after.Spec == nil && lostAtWork(&a) && once {
			l.broken(6, name, after.Rev, "attempt %d was lost, but the run continued, although its delivery is at_most_once", a.Number)
		}
	}
	if after.State == job.Armed {
		delete(l.given, name)
		if def != nil && def.Spec.Delivery == job.AtMostOnce && def.Generation == after.Generation {
			l.given[name] = def.Generation
		}
	}
}
