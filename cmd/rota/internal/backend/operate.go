package backend

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/rota-scheduler/rota/store"
)

// Submit creates a run.
func (b *Backend) Submit(ctx context.Context, s api.Submission) (api.RunView, bool, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, false, err
	}
	if s.Key != "" && s.Spec == nil && s.Hook == "" {
		// Programs submit with keys, thousands in a second. The run's record names the author, and an audit record would double the
		// writes.
		ctx = store.WithoutAudit(ctx)
	}
	r := job.Run{
		Job: s.Job, ID: runID(s.Key, s.Asked), Kind: s.Kind, Slot: s.Asked, Due: s.Due, State: job.Pending, Reason: job.ReasonNew,
		Key: s.Key, Payload: s.Payload, By: s.By, Created: s.Asked,
	}
	var does *job.Spec
	if s.Spec != nil {
		text, err := json.Marshal(s.Spec)
		if err != nil {
			return api.RunView{}, false, fmt.Errorf("encode command: %w", err)
		}
		spec, err := b.parseSpec(ctx, "command", text)
		if err != nil {
			return api.RunView{}, false, err
		}
		r.Spec, does = &spec, &spec
	} else {
		current, err := b.current(ctx, s.Job)
		if err != nil {
			return api.RunView{}, false, err
		}
		if current == nil || s.Earlier {
			if there, ok := b.earlier(ctx, &r); ok { // the job was deleted since
				return api.NewRunView(there), false, nil
			}
			return api.RunView{}, false, fmt.Errorf("job %s: %w", s.Job, job.ErrNotFound)
		}
		r.Generation, does = current.Generation, current.Spec
	}
	if err := does.CheckPayload(s.Payload); err != nil {
		return api.RunView{}, false, invalidField("payload", "%v", err)
	}
	if err := fillParams(&r, does, s.Params); err != nil {
		if there, ok := b.earlier(ctx, &r); ok { // the definition has changed since
			return api.NewRunView(there), false, nil
		}
		return api.RunView{}, false, err
	}
	if s.Kind == job.KindDelayed {
		r.Reason = job.ReasonNotYet
	}
	var behind []job.Run
	var err error
	if s.Workflow {
		if err := b.caughtUp(ctx); err != nil { // in an older view, a new step would be missing, and would never run
			return api.RunView{}, false, err
		}
		if behind, err = b.stepsOf(&r); err != nil {
			return api.RunView{}, false, err
		}
	}
	return b.submit(ctx, does, r, behind, "workflow")
}

// submit creates r, which does what the spec says, and the steps behind it. It refuses the request if an earlier one with the same
// key has created r without the steps, which would never run. field asks for the steps.
func (b *Backend) submit(ctx context.Context, does *job.Spec, r job.Run, steps []job.Run, field string) (api.RunView, bool, error) {
	made, created, err := makeRun(ctx, b.admitting(does), r, steps...)
	if err != nil {
		return api.RunView{}, false, err
	}
	b.shown(ctx, made.Rev)
	if !created && len(steps) > 0 && b.stepless(&made, steps) {
		return api.RunView{}, false, invalidField(field,
			"key %q was used for run %s without the steps behind it: use a new key to run them", made.Key, made.Name())
	}
	return api.NewRunView(made), created, nil
}

// stepsKept is for how long after its end the steps behind a run certainly have their records. History keeps them for a minute.
const stepsKept = 30 * time.Second

// stepless reports whether an earlier submission created r without the steps behind it. It returns false if that is no longer
// certain.
func (b *Backend) stepless(r *job.Run, behind []job.Run) bool {
	if rev, _ := b.mirror.Current(); rev < r.Rev || r.State.Terminal() && b.present().Sub(r.Ended()) > stepsKept {
		return false
	}
	return !slices.ContainsFunc(behind, func(step job.Run) bool {
		_, known := b.mirror.Run(step.Name())
		defined, _ := b.mirror.Job(step.Job)
		return known || defined == nil || defined.Updated.After(r.Created) // the workflow was another one
	})
}

// submitter creates runs in the store.
type submitter interface {
	Submit(ctx context.Context, r job.Run, behind ...job.Run) (job.Run, error)
}

// makeRun creates r, and the steps behind it. created is false if an earlier request with the same key has created the run.
//
// A request to the store may take effect although its answer is lost. Then its repetition finds a run, which a worker may already
// have ended. makeRun decides whether this is r. A run without a key has a unique ID, so the same ID means that it is r. A run
// with a key is r if an answer was lost, and if the same caller submitted it at the same nanosecond.
func makeRun(ctx context.Context, s submitter, r job.Run, behind ...job.Run) (made job.Run, created bool, err error) {
	made, err = s.Submit(ctx, r, behind...)
	var taken *store.TakenError
	switch {
	case err == nil:
		return made, true, nil
	case errors.As(err, new(*api.Overloaded)):
		return job.Run{}, false, err
	case !errors.Is(err, job.ErrConflict):
		return job.Run{}, false, storeError(err)
	case r.Key != "" && made.Key == r.Key:
		return made, errors.Is(err, job.ErrOutcomeUnknown) && made.Created.Equal(r.Created) && made.By == r.By, nil
	case r.Key != "" && made.Rev != 0:
		return job.Run{}, false, usedKey(r.Key, "for another workflow, which has run "+made.Name())
	case r.Key != "" && errors.As(err, &taken):
		return job.Run{}, false, usedKey(r.Key, "for run "+taken.Run)
	case r.Key != "":
		return job.Run{}, false, storeError(err)
	case made.Rev == 0:
		return job.Run{}, false, fmt.Errorf("run %s was created, but its record is unreadable: %w", r.Name(), context.DeadlineExceeded)
	}
	return made, true, nil
}

// usedKey returns the error for a key of other work.
func usedKey(key, what string) error {
	return invalidField("", "key %q was used %s: use a new key for new work", key, what)
}

// runID returns the ID of a run that belongs to no slot. The same key gives the same ID. Without a key, the ID is new; such IDs
// sort by time.
func runID(key string, at time.Time) string {
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		return "key-" + hex.EncodeToString(sum[:10])
	}
	return strings.ToLower(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Cancel ends a run that no worker has claimed. It asks the worker to end any other run.
func (b *Backend) Cancel(ctx context.Context, jobName, id string, c job.Cancel) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	r, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, storeError(err)
	}
	r, err = stopRun(ctx, b.store, r, c)
	var ended *job.TransitionError
	switch {
	case errors.As(err, &ended):
		return api.RunView{}, err
	case err != nil:
		return api.RunView{}, storeError(err)
	}
	b.shown(ctx, r.Rev)
	return api.NewRunView(r), nil
}

// stopper writes the end of a run. If a method returns job.ErrConflict, it also returns the present record. Its Rev is 0 if there
// is no record.
type stopper interface {
	Write(ctx context.Context, r job.Run) (job.Run, error)
	Stop(ctx context.Context, r job.Run) (job.Run, error) // also notifies the worker of the run
}

// stopRun ends r, or asks its worker to end it. If the worker is already ending the run, stopRun returns the run unchanged.
func stopRun(ctx context.Context, s stopper, r job.Run, c job.Cancel) (job.Run, error) {
	gone := false
	current := func(context.Context) (job.Run, error) {
		if gone {
			return r, fmt.Errorf("run %s: %w", r.Name(), job.ErrNotFound)
		}
		return r, nil
	}
	return store.Edit(ctx, current, func(r job.Run) (next job.Run, changed bool, err error) {
		if r.Cancel.Is(&c) || r.State == job.Running && r.Cancel != nil { // Is: an earlier request took effect without an answer
			return r, false, nil
		}
		next, err = r.Stop(c)
		return next, true, err
	}, func(ctx context.Context, next job.Run) (written job.Run, err error) {
		write := s.Write
		if next.State == job.Running {
			write = s.Stop
		}
		written, err = write(ctx, next)
		if errors.Is(err, job.ErrConflict) {
			if gone = written.Rev == 0; !gone {
				r = written
			}
		}
		return written, err
	})
}

// Retry creates a new run that repeats an ended run. With resume it also repeats the steps that were skipped because of it.
func (b *Backend) Retry(ctx context.Context, jobName, id, key, by string, resume bool) (v api.RunView, created bool, err error) {
	if err := b.up(); err != nil {
		return api.RunView{}, false, err
	}
	v, created, err = b.retry(ctx, jobName, id, key, by, resume)
	if key != "" && (errors.Is(err, job.ErrNotFound) || errors.As(err, new(*api.Refusal))) {
		there, ok := b.earlier(ctx, &job.Run{Job: jobName, ID: runID(key, time.Time{}), Key: key})
		ok = ok && there.RetryOf == jobName+"/"+id && (!resume || b.hasSteps(&there))
		if ok { // the definition or the history has changed since
			return api.NewRunView(there), false, nil
		}
	}
	return v, created, err
}

// hasSteps reports whether a step behind r has a run of the same start.
func (b *Backend) hasSteps(r *job.Run) bool {
	return slices.ContainsFunc(b.graph(r.Job).Behind(r.Job), func(step string) bool {
		_, known := b.mirror.Run(step + "/" + r.ID)
		return known
	})
}

func (b *Backend) retry(ctx context.Context, jobName, id, key, by string, resume bool) (v api.RunView, created bool, err error) {
	old, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, false, storeError(err)
	}
	if !old.State.Terminal() {
		return api.RunView{}, false, api.NotEnded(old.Name(), old.State)
	}
	now, err := b.now(ctx)
	if err != nil {
		return api.RunView{}, false, err
	}
	r := job.Run{
		Job: jobName, ID: runID(key, now), Kind: job.KindRetry, Slot: old.Slot, Due: now, State: job.Pending, Reason: job.ReasonNew,
		Payload: old.Payload, Spec: old.Spec, RetryOf: old.Name(), Key: key, By: by, Created: now,
		After: workflow.Follow(&old), On: old.On,
	}
	if workflow.Waited(&old) {
		r.Due, r.Reason = job.WhenParentsEnd, job.ReasonParents
	}
	does := r.Spec
	if r.Spec == nil { // without a spec of its own, the new run uses the present definition of the job
		current, err := b.current(ctx, jobName)
		switch {
		case err != nil:
			return api.RunView{}, false, err
		case current == nil:
			return api.RunView{}, false, refusal("run %s cannot be retried: job %s was deleted", old.Name(), jobName)
		}
		r.Generation, does = current.Generation, current.Spec
	}
	if err := keepParams(&r, &old, does); err != nil {
		return api.RunView{}, false, err
	}
	var behind []job.Run
	if resume {
		if behind, err = b.resumed(ctx, &old, &r); err != nil {
			return api.RunView{}, false, err
		}
	}
	return b.submit(ctx, does, r, behind, "resume")
}
