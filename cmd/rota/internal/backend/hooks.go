package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

// The results of deliveries, as rota_hook_deliveries_total names them.
const (
	deliveryStarted   = "started"
	deliveryRepeated  = "repeated" // an earlier delivery had the same id
	deliveryUnknown   = "unknown"  // no job has the hook
	deliveryMalformed = "malformed"
	deliverySignature = "signature"
	deliveryTime      = "time"
	deliveryParameter = "parameter"
	deliveryFailed    = "failed" // the sender may send it again
)

// Deliver makes the run of a delivery. The id of the delivery is the key of the run, so all replicas make the same one.
func (b *Backend) Deliver(ctx context.Context, d api.Delivery) (v api.RunView, created bool, err error) {
	defer func() { b.cfg.Delivered(deliveryResult(created, err)) }()
	if err := b.up(); err != nil {
		return api.RunView{}, false, err
	}
	j, err := b.jobOfHook(ctx, d.Hook)
	if err != nil {
		return api.RunView{}, false, err
	}
	hook := j.Spec.Hooks[d.Hook]
	secret, err := b.cfg.Secret(hook.Secret)
	if err != nil {
		return api.RunView{}, false, &api.SecretError{Hook: d.Hook, Cause: err}
	}
	id, err := webhook.Verify(secret, d.Header, d.Body, d.At)
	if errors.Is(err, webhook.ErrSecret) {
		err = &api.SecretError{Hook: d.Hook, Cause: err}
	}
	if err != nil {
		return api.RunView{}, false, err
	}
	s := api.Submission{
		Job: j.Name, Kind: job.KindManual, Asked: d.At, Due: d.At, Key: deliveryKey(d.Hook, id), By: d.By, Hook: d.Hook,
	}
	switch there, err := b.delivered(ctx, d.Hook, s.Key, j, d.At); {
	case err != nil:
		return api.RunView{}, false, err
	case there != nil:
		return api.NewRunView(*there), false, nil
	}
	if s.Params, err = webhook.Params(hook.Param, id, d.Body); err != nil {
		if there, ok := b.earlier(ctx, &job.Run{Job: j.Name, ID: runID(s.Key, d.At), Key: s.Key}); ok { // the hook has changed since
			return api.NewRunView(there), false, nil
		}
		return api.RunView{}, false, err
	}
	return b.Submit(ctx, s)
}

// errHookUnreadable names no job, because the sender may be a stranger.
var errHookUnreadable = fmt.Errorf(
	"%w: the record of a job, which may have the hook, is unreadable: `rota status` names it", api.ErrUnavailable)

// jobOfHook returns the job that has a hook. The error is api.ErrUnavailable if an unreadable job may have the hook: then the
// sender tries again, and the delivery is not lost.
func (b *Backend) jobOfHook(ctx context.Context, name string) (*job.Job, error) {
	jobs := b.mirror.HookJobs(name)
	switch len(jobs) {
	case 0:
		if b.mirror.UnreadableJob() {
			return nil, errHookUnreadable
		}
		return nil, fmt.Errorf("hook %s: %w", name, job.ErrNotFound)
	case 1:
	default:
		// The sender may be a stranger, so it learns no names of jobs.
		return nil, refusal("hook %s belongs to %d jobs: `rota status` names them", name, len(jobs))
	}
	j, err := b.current(ctx, jobs[0])
	if errors.Is(err, job.ErrUnreadable) {
		return nil, errHookUnreadable
	}
	if err != nil {
		return nil, err
	}
	if j != nil {
		if _, ok := j.Spec.Hooks[name]; ok {
			return j, nil
		}
	}
	return nil, fmt.Errorf("hook %s: %w", name, job.ErrNotFound)
}

// checkHooks returns an error if another job has a hook of the same name.
func (b *Backend) checkHooks(ctx context.Context, name string, spec *job.Spec) error {
	for _, hook := range slices.Sorted(maps.Keys(spec.Hooks)) {
		for _, other := range b.mirror.HookJobs(hook) {
			if other != name {
				return invalidField("hooks."+hook, "%s has a hook of this name: choose another name", otherJob(ctx, other))
			}
		}
	}
	return nil
}

func deliveryResult(created bool, err error) string {
	var refusal *webhook.Refusal
	switch {
	case created:
		return deliveryStarted
	case err == nil:
		return deliveryRepeated
	case errors.Is(err, job.ErrNotFound):
		return deliveryUnknown
	case errors.As(err, new(*api.Invalid)):
		return deliveryParameter
	case !errors.As(err, &refusal):
		return deliveryFailed
	}
	switch refusal.Status {
	case http.StatusUnauthorized:
		return deliverySignature
	case http.StatusForbidden:
		return deliveryTime
	case http.StatusUnprocessableEntity:
		return deliveryParameter
	}
	return deliveryMalformed
}
