package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Approve is the rule that each run of a job waits for a person.
type Approve struct {
	By     []string `json:"by,omitempty"`     // principals and groups that may decide; nil: every operator of the job
	Within Duration `json:"within,omitempty"` // a run that has waited so long is skipped; 0: it waits without end
}

// MaxApprovers is how many principals and groups a rule may name.
const MaxApprovers = 64

// WithinRange is the range of Approve.Within. The zero value stands for no deadline.
var WithinRange = Range[Duration]{Duration(time.Second), MaxDuration}

func (a *Approve) check() error {
	if len(a.By) > MaxApprovers {
		return fmt.Errorf("approve.by has %d names, at most %d are allowed", len(a.By), MaxApprovers)
	}
	if slices.Contains(a.By, "") {
		return errors.New("approve.by has an empty name")
	}
	return WithinRange.check("approve.within", a.Within)
}

// Approval says how far the approval of a run is. The record of the run has a copy of the rule, so a later change of the job does
// not change who may decide, or until when.
type Approval struct {
	By    []string  `json:"by,omitempty"`   // principals and groups that may decide; nil: every operator of the job
	Asked time.Time `json:"asked,omitzero"` // since when the run waits; zero: it was approved before anybody was asked
	Until time.Time `json:"until,omitzero"` // the leader skips a run that nobody has approved before; zero: there is no deadline

	At       time.Time `json:"at,omitzero"` // when somebody decided; zero: nobody has
	Who      string    `json:"who,omitempty"`
	Approved bool      `json:"approved,omitempty"` // false, with At: rejected
	Reason   string    `json:"reason,omitempty"`   // of the decision
}

// WhenApproved is the due time of a run that waits for its approval. The approval sets the real one. An earlier version of rota
// knows no approvals, and never starts such a run.
var WhenApproved = WhenParentsEnd.Add(-time.Second)

// NeedsApproval reports whether the run must be approved before its first attempt, and nobody has been asked. spec is the present
// definition of its job; nil needs none.
func (r *Run) NeedsApproval(spec *Spec) bool {
	return spec != nil && spec.Approve != nil && r.Approval == nil && r.Attempt == 0 && r.Attempts == nil
}

// AwaitsApproval reports whether the run waits for a person.
func (r *Run) AwaitsApproval() bool {
	return r.State == Pending && r.Approval != nil && r.Approval.At.IsZero()
}

// Asked reports whether the run waits for a person, or did so. Such a run occupies its job from then on.
func (r *Run) Asked() bool { return r.Approval != nil && !r.Approval.Asked.IsZero() }

// approvalPending is the first part of the reason of a run that waits for its approval.
const approvalPending = "waits for approval"

// Ask makes a pending run wait for its approval, by the rule of its job.
func (r Run) Ask(rule *Approve, now time.Time) Run {
	a := &Approval{By: rule.By, Asked: now}
	if rule.Within > 0 {
		a.Until = now.Add(rule.Within.Std())
	}
	r.Approval, r.Due, r.Ahead = a, WhenApproved, false
	r.Reason = approvalPending + byWhom(a.By)
	if !a.Until.IsZero() {
		r.Reason += " until " + a.Until.UTC().Format(time.RFC3339)
	}
	return r
}

// Verdict is the decision of a person about a run.
type Verdict struct {
	Approved bool
	At       time.Time
	Who      string
	Reason   string
}

// Decidable reports whether a person may decide about the run now. It waits for that, or it will: then rule is the present rule of
// its job, and nil means that the job has none. A run on every worker whose copies exist does not wait any more.
func (r *Run) Decidable(rule *Approve) bool {
	early := r.State == Pending && r.Approval == nil && r.Attempt == 0 && r.Attempts == nil && !r.Ahead && !r.AwaitsParents() &&
		r.Copies == nil
	return r.AwaitsApproval() || rule != nil && early
}

// Decide approves or rejects a run that is Decidable. An approved run that waits for it is due from now on. A rejected run is
// skipped.
func (r Run) Decide(rule *Approve, v Verdict) (Run, error) {
	var a Approval
	switch {
	case !r.Decidable(rule):
		return r, &TransitionError{Run: r.Name(), From: r.State, To: Pending}
	case r.Approval != nil:
		a = *r.Approval
	default:
		a.By = rule.By
	}
	a.At, a.Who, a.Approved, a.Reason = v.At, v.Who, v.Approved, v.Reason
	if v.Approved {
		if r.Asked() {
			r.Due, r.Reason = v.At, ReasonNew
		}
		r.Approval = &a
		return r, nil
	}
	reason := "rejected"
	if v.Who != "" {
		reason = "rejected by " + v.Who
	}
	if v.Reason != "" {
		reason += ": " + v.Reason
	}
	return r.unapproved(&a, reason, v.At)
}

// Expire skips a run that nobody has approved in time.
func (r Run) Expire(now time.Time) (Run, error) {
	if !r.AwaitsApproval() || r.Approval.Until.IsZero() {
		return r, &TransitionError{Run: r.Name(), From: r.State, To: Skipped}
	}
	a := r.Approval
	return r.unapproved(a, fmt.Sprintf("not approved%s within %v", byWhom(a.By), Duration(a.Until.Sub(a.Asked))), now)
}

func (r Run) unapproved(a *Approval, reason string, at time.Time) (Run, error) {
	next, err := r.Skip(reason, at)
	if err != nil {
		return r, err
	}
	next.Approval = a
	if !a.Asked.IsZero() {
		next.Due = a.Asked
	}
	return next, nil
}

// byWhom names at most three of those who may decide.
func byWhom(by []string) string {
	const most = 3
	switch extra := len(by) - most; {
	case len(by) == 0:
		return ""
	case extra > 0:
		return fmt.Sprintf(" by %s or %d more", strings.Join(by[:most], ", "), extra)
	}
	return " by " + strings.Join(by, " or ")
}
