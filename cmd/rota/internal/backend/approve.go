package backend

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// Decide approves or rejects a run. The write compares the revision of the record, so of a decision and the deadline of the leader
// only one takes effect.
func (b *Backend) Decide(
	ctx context.Context, jobName, id string, v job.Verdict, may func(by []string) error,
) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	var rule *job.Approve
	var known job.Run
	var refused error // by the rules of approvals, and not by the store
	read := func(ctx context.Context) (job.Run, error) {
		if known.Rev != 0 {
			return known, nil
		}
		return b.store.Run(ctx, jobName, id)
	}
	r, err := store.Edit(ctx, read, func(r job.Run) (job.Run, bool, error) {
		var err error
		if rule, err = b.ruleOf(ctx, &r); err != nil {
			return r, false, err
		}
		if refused = may(allowed(&r, rule)); refused != nil {
			return r, false, refused
		}
		var done bool
		if done, refused = decided(&r, rule, v); done || refused != nil {
			return r, false, refused
		}
		next, err := r.Decide(rule, v)
		return next, true, err
	}, func(ctx context.Context, next job.Run) (job.Run, error) {
		written, err := b.store.Write(ctx, next)
		if errors.Is(err, job.ErrConflict) {
			known = written
		}
		return written, err
	})
	switch {
	case refused != nil:
		return api.RunView{}, refused
	case err != nil:
		return api.RunView{}, storeError(err)
	}
	b.shown(ctx, r.Rev)
	return api.NewRunView(r), nil
}

// ruleOf returns the present rule of the job, for a run that has none of its own yet. nil means that the job asks nobody.
func (b *Backend) ruleOf(ctx context.Context, r *job.Run) (*job.Approve, error) {
	switch {
	case r.Approval != nil:
		return nil, nil
	case r.Spec != nil:
		return r.Spec.Approve, nil
	}
	current, err := b.current(ctx, r.Job)
	if err != nil || current == nil {
		return nil, err
	}
	return current.Spec.Approve, nil
}

// allowed returns the names of those who may decide about r; nil: every operator. rule is the present rule of the job.
func allowed(r *job.Run, rule *job.Approve) []string {
	switch {
	case r.Approval != nil:
		return r.Approval.By
	case rule != nil:
		return rule.By
	}
	return nil
}

// decided reports whether the same person has made the same decision about r before. It returns a Refusal if v is not possible.
func decided(r *job.Run, rule *job.Approve, v job.Verdict) (bool, error) {
	a, name := r.Approval, r.Name()
	made := a != nil && !a.At.IsZero()
	switch {
	case made && a.Approved == v.Approved && nameOf(a.Who) == nameOf(v.Who):
		return true, nil
	case made && !a.Approved:
		return false, refusal("%s rejected run %s at %s", person(a), name, a.At.Format(time.RFC3339))
	case made && v.Approved:
		return false, refusal("%s approved run %s at %s", person(a), name, a.At.Format(time.RFC3339))
	case r.State.Terminal():
		return false, refusal("run %s has ended already: it is %s", name, r.State)
	case made:
		return false, refusal("%s approved run %s at %s: cancel it instead", person(a), name, a.At.Format(time.RFC3339))
	case r.AwaitsApproval() && !a.Until.IsZero() && !v.At.Before(a.Until):
		return false, refusal("run %s could be approved until %s: it is skipped", name, a.Until.Format(time.RFC3339))
	case !r.Decidable(rule) && r.AwaitsParents():
		return false, refusal("run %s waits for its parents: decide when they have ended", name)
	case !r.Decidable(rule):
		return false, refusal("run %s waits for no approval: it is %s", name, r.State)
	}
	return false, nil
}

// nameOf returns the name of a person without its address, which may differ from one request to the next.
func nameOf(who string) string {
	name, _, _ := strings.Cut(who, " from ")
	return name
}

// person returns the name of the person who decided. There is none while authentication is off and the client names no user.
func person(a *job.Approval) string { return cmp.Or(a.Who, "somebody") }
