package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// After makes a job a step: its run of a slot follows the run of a parent.
type After struct {
	Job  string `json:"job"`
	When When   `json:"when,omitempty"` // how the parent's run must have ended; "" stands for WhenSuccess
}

// When says how the run of a parent must have ended.
type When string

// The conditions.
const (
	WhenSuccess When = "success"
	WhenFailure When = "failure" // see State.IsFailure
	WhenDone    When = "done"    // ended in any way
)

// Whens lists every When.
func Whens() []When { return []When{WhenSuccess, WhenFailure, WhenDone} }

// Met reports whether a run that ended with the state s meets the condition.
func (w When) Met(s State) bool {
	switch w {
	case WhenFailure:
		return s.IsFailure()
	case WhenDone:
		return s.Terminal()
	}
	return s == Succeeded
}

// ParentsText names the parents of a step, with the conditions that are not success: "load, check (done)".
func ParentsText(after []After) string {
	names := make([]string, len(after))
	for i, a := range after {
		if names[i] = a.Job; a.When != "" && a.When != WhenSuccess {
			names[i] += " (" + string(a.When) + ")"
		}
	}
	return strings.Join(names, ", ")
}

// Parent is a run that another run follows, as the record of the other run names it.
type Parent struct {
	Job  string `json:"job"`
	ID   string `json:"id,omitempty"` // "": the id of the run that follows
	When When   `json:"when,omitempty"`
	// State is how it ended. "": the run that follows waits for its end, or found no record of it. It is set early if history
	// lost the record before the run that follows was created.
	State State `json:"state,omitempty"`
	// Outputs says that it has outputs.
	Outputs bool `json:"outputs,omitempty"`
}

// RunID returns the id of the parent of r.
func (p *Parent) RunID(r *Run) string { return cmp.Or(p.ID, r.ID) }

// MaxParents is how many parents a step may have. One transaction compares the records of all.
const MaxParents = 64

// WhenParentsEnd is the due time of a run that waits for its parents. The leader sets the real one when they have ended. An
// earlier version of rota knows no parents, and never starts such a run.
var WhenParentsEnd = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// AwaitsParents reports whether the run waits for the ends of its parents.
func (r *Run) AwaitsParents() bool {
	return r.State == Pending && len(r.After) > 0 && r.Due.Equal(WhenParentsEnd)
}

// RepeatedAlone reports whether the run repeats a step, and is not one of the steps behind such a run. Then it follows the runs of
// earlier ids. If a workflow is resumed, its first run is such a run, and each step behind it follows a run of its own id.
func (r *Run) RepeatedAlone() bool {
	return r.RetryOf != "" && !slices.ContainsFunc(r.After, func(a Parent) bool { return a.ID == "" })
}

// Step reports whether the job is a step of a workflow.
func (s *Spec) Step() bool { return len(s.After) > 0 }

// checkAfter returns an error if a step has a schedule of its own, or parents that it cannot have.
func (s *Spec) checkAfter() error {
	if !s.Step() {
		return nil
	}
	if s.Scheduled() {
		return errors.New("it has after and a schedule, and needs exactly one of them")
	}
	if len(s.After) > MaxParents {
		return fmt.Errorf("after has %d parents, at most %d are allowed", len(s.After), MaxParents)
	}
	for i, a := range s.After {
		if err := cmp.Or(CheckName(a.Job), known("after.when", a.When, Whens())); err != nil {
			return err
		}
		if slices.ContainsFunc(s.After[:i], func(other After) bool { return other.Job == a.Job }) {
			return fmt.Errorf("after names %s twice", a.Job)
		}
	}
	return nil
}

func (w *writer) parents(list []Parent) {
	for i := range list {
		if i == 0 {
			w.raw(`,"after":[`)
		} else {
			w.raw(`,`)
		}
		p := &list[i]
		w.string(`{"job":`, p.Job)
		w.optional(`,"id":`, p.ID)
		w.optional(`,"when":`, string(p.When))
		w.optional(`,"state":`, string(p.State))
		w.flag(`,"outputs":`, p.Outputs)
		w.raw(`}`)
	}
	if len(list) > 0 {
		w.raw(`]`)
	}
}

func (s *scanner) parents() (list []Parent) {
	for range s.list(`,"after":[`, `]`) {
		var p Parent
		p.Job = s.must(`{"job":`)
		p.ID = s.string(`,"id":`)
		p.When = When(s.string(`,"when":`))
		p.State = State(s.string(`,"state":`))
		p.Outputs = s.next(`,"outputs":true`)
		s.expect(`}`)
		list = append(list, p)
	}
	return list
}

// after reads the parents of a step.
func (s *scanner) after() (list []After) {
	for range s.list(`,"after":[`, `]`) {
		var a After
		a.Job = s.must(`{"job":`)
		a.When = When(s.string(`,"when":`))
		s.expect(`}`)
		list = append(list, a)
	}
	return list
}
