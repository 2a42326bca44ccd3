package backend

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
func (b *Backend) Submit(ctx context.Context, s api.Submission) (api.RunView, bool, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, false, err
	}
	r := job.Run{
		Job: s.Job, ID: runID(s.Key, s.Asked), Kind: s.Kind, Slot: s.Asked, Due: s.Due, State: job.Pending, Reason: job.ReasonNew,
		Key: s.Key, Payload: s.Payload, By: s.By, Created: s.Asked,
	}
	var does *job.Spec
	if s.Spec != nil {
		spec, err := checkSpec("command", *s.Spec, nil)
		if err != nil {
			return api.RunView{}, false, err
		}
		r.Spec, does = &spec, &spec
	} else {
		current, err := b.current(ctx, s.Job)
		if err != nil {
			return api.RunView{}, false, err
		}
		if current == nil {
			return api.RunView{}, false, fmt.Errorf("job %s: %w", s.Job, job.ErrNotFound)
		}
		r.Generation, does = current.Generation, current.Spec
	}
	if err := does.CheckPayload(s.Payload); err != nil {
		return api.RunView{}, false, &api.Invalid{Errors: []api.FieldError{{Field: "payload", Message: err.Error()}}}
	}
	if s.Kind == job.KindDelayed {
		r.Reason = job.ReasonNotYet
	}
	made, created, err := makeRun(ctx, b.store, r)
	if err != nil {
		return api.RunView{}, false, err
	}
	if created {
		b.shown(ctx, made.Rev)
	}
	return api.NewRunView(made), created, nil
}

// submitter is how a run is created.
type submitter interface {
	Submit(ctx context.Context, r job.Run) (job.Run, error)
}

// makeRun creates r. created is false if an earlier call with its key has made it.
//
// What is found there may be r itself, from a sending that was applied without an answer: by now the leader may have given it to
// a worker, who may have ended it. The identity of a run without a key is new; one with a key is r if it was asked for by the same
// caller at the same nanosecond.
func makeRun(ctx context.Context, s submitter, r job.Run) (made job.Run, created bool, err error) {
	made, err = s.Submit(ctx, r)
	switch {
	case err == nil:
		return made, true, nil
	case !errors.Is(err, job.ErrConflict):
		return job.Run{}, false, asked(err)
	case r.Key != "" && made.Key == r.Key:
		return made, made.Created.Equal(r.Created) && made.By == r.By, nil
	case r.Key != "":
		return job.Run{}, false, asked(err)
	case made.Rev == 0:
		return job.Run{}, false, fmt.Errorf("run %s was made, and nobody can read it any more: %w", r.Name(), context.DeadlineExceeded)
	}
	return made, true, nil
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
func (b *Backend) Cancel(ctx context.Context, jobName, id string, c job.Cancel) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	r, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, asked(err)
	}
	r, err = stopRun(ctx, b.store, r, c)
	var ended *job.TransitionError
	switch {
	case errors.As(err, &ended):
		return api.RunView{}, err
	case err != nil:
		return api.RunView{}, asked(err)
	}
	b.shown(ctx, r.Rev)
	return api.NewRunView(r), nil
}

// stopper is how the end of a run is written.
type stopper interface {
	Write(ctx context.Context, r job.Run) (job.Run, error)
	Stop(ctx context.Context, r job.Run) (job.Run, error) // tells its worker, too
}

// stopRun ends r, or asks its worker to, whoever else writes it meanwhile.
func stopRun(ctx context.Context, s stopper, r job.Run, c job.Cancel) (job.Run, error) {
	for {
		if r.Cancel.Is(&c) || r.State == job.Running && r.Cancel != nil { // Is: a sending of ours was applied without an answer
			return r, nil
		}
		next, err := r.Stop(c)
		if err != nil {
			return r, err
		}
		write := s.Write
		if r.State == job.Running {
			write = s.Stop
		}
		next, err = write(ctx, next)
		if !errors.Is(err, job.ErrConflict) {
			return next, err
		}
		if next.Rev == 0 {
			return r, fmt.Errorf("run %s: %w", r.Name(), job.ErrNotFound)
		}
		r = next
	}
}

// Retry makes a new run that does what an ended one did.
func (b *Backend) Retry(ctx context.Context, jobName, id, by string) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	old, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, asked(err)
	}
	if !old.State.Terminal() {
		return api.RunView{}, api.NotEnded(old.Name(), old.State)
	}
	now, err := b.now(ctx)
	if err != nil {
		return api.RunView{}, err
	}
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
	made, _, err := makeRun(ctx, b.store, r)
	if err != nil {
		return api.RunView{}, err
	}
	b.shown(ctx, made.Rev)
	return api.NewRunView(made), nil
}
