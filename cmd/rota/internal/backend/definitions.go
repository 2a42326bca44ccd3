package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// editor changes the definitions of one kind.
type editor interface {
	put(ctx context.Context, name string, text []byte, pre api.Precondition, by string) (view any, created bool, err error)
	remove(ctx context.Context, name string, pre api.Precondition) error
}

// editor returns the editor of a kind. To add a kind, add a case here.
func (b *Backend) editor(kind string) (editor, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	switch kind {
	case api.KindJob:
		return &definitions[job.Job]{
			b: b, kind: kind, family: store.KindJobs, parse: b.parseJob,
			read: b.store.Job, write: b.store.PutJob, delete: b.store.DeleteJob,
			head: func(j *job.Job) (*int64, job.Origin) { return &j.Rev, j.Origin },
			view: func(j *job.Job) any { return b.jobView(j) }, author: func(j *job.Job) *string { return &j.UpdatedBy },
			user: b.stepBehind,
		}, nil
	case api.KindLimit:
		return &definitions[job.Limit]{
			b: b, kind: kind, family: store.KindLimits, parse: parseLimit,
			read: b.store.Limit, write: b.store.PutLimit, delete: b.store.DeleteLimit,
			head: func(l *job.Limit) (*int64, job.Origin) { return &l.Rev, l.Origin },
			view: func(l *job.Limit) any { return api.LimitView{Limit: *l, Revision: l.Rev} },
			user: b.userOfLimit,
		}, nil
	}
	return nil, fmt.Errorf("no definitions of kind %s", kind)
}

// Put creates or replaces a definition. Without a revision in the precondition, it repeats the write after a conflict.
func (b *Backend) Put(
	ctx context.Context, kind, name string, text []byte, pre api.Precondition, by string,
) (view any, created bool, err error) {
	e, err := b.editor(kind)
	if err != nil {
		return nil, false, err
	}
	return e.put(ctx, name, text, pre, by)
}

// Delete removes a definition that no other definition uses.
func (b *Backend) Delete(ctx context.Context, kind, name string, pre api.Precondition, _ string) error {
	e, err := b.editor(kind)
	if err != nil {
		return err
	}
	return e.remove(ctx, name, pre)
}

// define applies a request to the record cur at the time now. cur is nil if there is no record yet. It returns the new record,
// and reports whether that differs from cur.
type define[T any] func(cur *T, origin job.Origin, now time.Time) (T, bool)

// definitions is the editor of one kind, whose records are T.
type definitions[T any] struct {
	b      *Backend
	kind   string
	family store.Kind
	read   func(ctx context.Context, name string) (T, error)
	write  func(ctx context.Context, next T) (T, error)
	delete func(ctx context.Context, name string, rev int64) error
	parse  func(ctx context.Context, name string, text []byte) (d define[T], names bool, err error) // names: it names other records
	head   func(*T) (rev *int64, origin job.Origin)
	view   func(*T) any

	author func(*T) *string         // the client of the last change; nil: records of this kind do not name it
	user   func(name string) string // returns a job that names the definition; empty if none does
}

// present is a record and its revision. record is nil if there is none, or if it cannot be read. rev is 0 if there is none.
type present[T any] struct {
	record *T
	rev    int64
}

func (d *definitions[T]) put(
	ctx context.Context, name string, text []byte, pre api.Precondition, by string,
) (view any, created bool, err error) {
	define, names, err := d.parse(ctx, name, text)
	if names {
		unlock, locked := d.b.lockNames(ctx)
		if locked != nil {
			return nil, false, locked
		}
		defer unlock()
		define, _, err = d.parse(ctx, name, text)
	}
	if err != nil {
		return nil, false, err
	}
	written, err := store.Edit(ctx,
		func(ctx context.Context) (present[T], error) { return d.editable(ctx, name, pre) },
		func(cur present[T]) (present[T], bool, error) {
			created = cur.rev == 0
			if created && d.kind == api.KindJob {
				if err := d.b.admitJob(); err != nil {
					return cur, false, err
				}
			}
			origin := job.Origin{Kind: job.OriginAPI, Source: by}
			if cur.record != nil {
				_, origin = d.head(cur.record) // keep the creator: another client alone is no change
			}
			now, err := d.b.now(ctx)
			if err != nil {
				return cur, false, err
			}
			next, changed := define(cur.record, origin, now)
			rev, _ := d.head(&next)
			*rev = cur.rev // this also replaces an unreadable record
			if d.author != nil {
				*d.author(&next) = by
			}
			return present[T]{&next, cur.rev}, changed, nil
		},
		func(ctx context.Context, next present[T]) (present[T], error) {
			record, err := d.write(ctx, *next.record)
			rev, _ := d.head(&record)
			return present[T]{&record, *rev}, storeError(err)
		})
	if err != nil {
		return nil, false, err
	}
	d.b.shown(ctx, written.rev)
	return d.view(written.record), created, nil
}

func (d *definitions[T]) remove(ctx context.Context, name string, pre api.Precondition) error {
	unlock, err := d.b.lockNames(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if user := d.user(name); user != "" {
		return refusal("%s %s is named by %s: remove it there first", d.kind, name, otherJob(ctx, user))
	}
	_, err = store.Edit(ctx,
		func(ctx context.Context) (present[T], error) {
			cur, err := d.editable(ctx, name, pre)
			if cur.rev == 0 && (err == nil || errors.Is(err, job.ErrConflict)) {
				err = fmt.Errorf("%s %s: %w", d.kind, name, job.ErrNotFound)
			}
			return cur, err
		},
		func(cur present[T]) (present[T], bool, error) { return cur, true, nil },
		func(ctx context.Context, cur present[T]) (present[T], error) {
			return cur, storeError(d.delete(ctx, name, cur.rev))
		})
	if err != nil {
		return err
	}
	if rev, err := d.b.store.Revision(ctx); err == nil {
		d.b.shown(ctx, rev)
	}
	return nil
}

// editable reads a record that a client wants to change. It returns an error if the client must not change the record. A client
// may replace or remove an unreadable record only if it names the revision of the record.
func (d *definitions[T]) editable(ctx context.Context, name string, pre api.Precondition) (present[T], error) {
	record, err := d.read(ctx, name)
	rev, origin := d.head(&record)
	cur := present[T]{rev: *rev}
	switch {
	case err == nil && origin.Kind == job.OriginFile:
		return cur, api.OwnedByFile(d.kind, name, origin.Source)
	case err == nil:
		cur.record = &record
	case errors.Is(err, job.ErrNotFound):
	case errors.Is(err, job.ErrUnreadable) && pre.Revision == 0 && !pre.Holds(cur.rev):
		return cur, storeError(err) // the client does not know the record, since it is in no list
	case errors.Is(err, job.ErrUnreadable) && (store.Replaceable(d.family) || pre.Revision != 0):
	default:
		return cur, storeError(err)
	}
	switch {
	case pre.Holds(cur.rev):
		return cur, nil
	case cur.rev == 0:
		return cur, fmt.Errorf("%s %s does not exist: %w", d.kind, name, job.ErrConflict)
	}
	return cur, fmt.Errorf("%s %s is at revision %d: %w", d.kind, name, cur.rev, job.ErrConflict)
}

// lockNames lets the caller check the names in a definition, and write the definition, before another request does the same here.
// Otherwise two jobs could follow each other, or a job that a step follows could be deleted. The mirror has everything that other
// replicas wrote before. The caller must call unlock.
func (b *Backend) lockNames(ctx context.Context) (unlock func(), err error) {
	select {
	case b.naming <- struct{}{}:
		unlock = func() { <-b.naming }
	case <-ctx.Done():
		return nil, storeError(ctx.Err())
	}
	if err := b.caughtUp(ctx); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func (b *Backend) parseJob(ctx context.Context, name string, text []byte) (d define[job.Job], names bool, err error) {
	spec, err := b.parseSpec(ctx, name, text)
	if err == nil {
		err = cmp.Or(b.checkParents(ctx, name, &spec), b.checkWorkflow(ctx, name, &spec), b.checkHooks(ctx, name, &spec))
	}
	return func(cur *job.Job, origin job.Origin, now time.Time) (job.Job, bool) {
		return job.Define(cur, name, spec, origin, now)
	}, len(spec.After)+len(spec.Limits)+len(spec.Hooks) > 0, err
}

// parseSpec reads a job from a request, by the rules of job files. Every limit that the job names must be in the store.
func (b *Backend) parseSpec(ctx context.Context, name string, text []byte) (job.Spec, error) {
	spec, err := config.ParseJob(name, text, func(_, limit string) (bool, error) {
		_, err := b.store.Limit(ctx, limit)
		if errors.Is(err, job.ErrNotFound) || errors.Is(err, job.ErrUnreadable) {
			return false, nil
		}
		return err == nil, storeError(err)
	})
	return spec, refused(err)
}

func parseLimit(_ context.Context, name string, text []byte) (d define[job.Limit], names bool, err error) {
	spec, err := config.ParseLimit(name, text)
	return func(cur *job.Limit, origin job.Origin, now time.Time) (job.Limit, bool) {
		return job.DefineLimit(cur, name, spec, origin, now)
	}, false, refused(err)
}

// userOfLimit returns the name of a job that names the limit; empty if no job does.
func (b *Backend) userOfLimit(name string) string {
	return firstName(b.mirror.JobsThat(func(j *job.Job) bool { return slices.Contains(j.Spec.Limits, name) }))
}

// otherJob names a job in an answer. If the client may not see the job, it learns no name.
func otherJob(ctx context.Context, name string) string {
	if visible := api.Visible(ctx); visible != nil && !visible(name) {
		return "a job that your role does not cover"
	}
	return "job " + name
}

// refused converts the mistakes in a request into the error that clients get. It returns other errors unchanged.
func refused(err error) error {
	var mistakes config.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	invalid := &api.Invalid{}
	for _, m := range mistakes {
		if m.Large {
			return fmt.Errorf("%s: %w", m.Msg, job.ErrTooLarge)
		}
		message := m.Msg
		if m.Hint != "" {
			message += " (" + m.Hint + ")"
		}
		invalid.Errors = append(invalid.Errors, api.FieldError{Field: m.Path, Message: message})
	}
	return invalid
}
