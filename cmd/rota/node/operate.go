package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Submit makes a run that was asked for.
func (b *backend) Submit(ctx context.Context, s api.Submission) (api.RunView, bool, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, false, err
	}
	r := job.Run{
		Job: s.Job, ID: runID(s.Key, s.Asked), Kind: s.Kind, Slot: s.Asked, Due: s.Due, State: job.Pending, Reason: job.ReasonNew,
		Key: s.Key, Payload: s.Payload, By: s.By, Created: s.Asked,
	}
	if s.Spec != nil {
		spec, err := checkSpec("command", *s.Spec, nil)
		if err != nil {
			return api.RunView{}, false, err
		}
		r.Spec = &spec
	} else {
		current, err := b.current(ctx, s.Job)
		if err != nil {
			return api.RunView{}, false, err
		}
		if current == nil {
			return api.RunView{}, false, fmt.Errorf("job %s: %w", s.Job, job.ErrNotFound)
		}
		r.Generation = current.Generation
	}
	if s.Kind == job.KindDelayed {
		r.Reason = job.ReasonNotYet
	}
	made, err := b.node.store.Submit(ctx, r)
	switch {
	case errors.Is(err, job.ErrConflict) && s.Key != "" && made.Key == s.Key:
		return api.NewRunView(made), false, nil
	case err != nil:
		return api.RunView{}, false, asked(err)
	}
	b.shown(ctx, made.Rev)
	return api.NewRunView(made), true, nil
}

// runID is the identity of a run that is nobody's slot: the same for the same key, otherwise new and sorted by time.
func runID(key string, at time.Time) string {
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		return "key-" + hex.EncodeToString(sum[:10])
	}
	return strings.ToLower(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Cancel asks for the end of a run. One that nobody has begun ends here, another by its worker.
func (b *backend) Cancel(ctx context.Context, jobName, id string, c job.Cancel) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	r, err := b.node.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, asked(err)
	}
	for {
		if r.State == job.Running && r.Cancel != nil {
			return api.NewRunView(r), nil
		}
		running := r.State == job.Running
		next, err := r.Stop(c)
		if err != nil {
			return api.RunView{}, err
		}
		if running {
			next, err = b.node.store.Stop(ctx, next)
		} else {
			next, err = b.node.store.Write(ctx, next)
		}
		switch {
		case err == nil:
			b.shown(ctx, next.Rev)
			return api.NewRunView(next), nil
		case errors.Is(err, job.ErrConflict) && next.Rev != 0:
			r = next
		case errors.Is(err, job.ErrConflict):
			return api.RunView{}, fmt.Errorf("run %s/%s: %w", jobName, id, job.ErrNotFound)
		default:
			return api.RunView{}, asked(err)
		}
	}
}

// Retry makes a new run that does what an ended one did.
func (b *backend) Retry(ctx context.Context, jobName, id, by string) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	old, err := b.node.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, asked(err)
	}
	if !old.State.Terminal() {
		return api.RunView{}, api.NotEnded(old.Name(), old.State)
	}
	now := b.node.now().UTC()
	r := job.Run{
		Job: jobName, ID: runID("", now), Kind: job.KindRetry, Slot: old.Slot, Due: now, State: job.Pending, Reason: job.ReasonNew,
		Payload: old.Payload, Spec: old.Spec, RetryOf: old.Name(), By: by, Created: now,
	}
	if r.Spec == nil { // it does what the job says now
		current, err := b.current(ctx, jobName)
		switch {
		case err != nil:
			return api.RunView{}, err
		case current == nil:
			return api.RunView{}, &api.Refusal{Reason: fmt.Sprintf("run %s cannot be retried: job %s was deleted", old.Name(), jobName)}
		}
		r.Generation = current.Generation
	}
	made, err := b.node.store.Submit(ctx, r)
	if err != nil {
		return api.RunView{}, asked(err)
	}
	b.shown(ctx, made.Rev)
	return api.NewRunView(made), nil
}
