package jobfiles

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/rota-scheduler/rota/store"
)

// definitions are all definitions of one kind: those in the files and those in the store. R is their record, such as job.Job.
type definitions[R any] struct {
	kind    string // name of the kind in log lines
	family  store.Kind
	log     hclog.Logger
	now     func(context.Context) (time.Time, error)
	wanted  []wanted[R]
	created time.Time   // when new definitions are created: all at once, so that a step gets each slot that its parents get
	present func() []*R // returns all records in the mirror
	known   func(name string) (*R, bool)

	header func(*R) header
	read   func(ctx context.Context, name string) (R, error)
	put    func(ctx context.Context, r R) (R, error)
	remove func(ctx context.Context, name string, rev int64) error
}

// wanted is a definition in a file.
type wanted[R any] struct {
	name, file string
	depth      int // how many jobs it follows, one after another
	// define returns the record that replaces known, and reports whether the two differ. known is nil if there is no record.
	define func(known *R, origin job.Origin, now time.Time) (next R, changed bool)
}

// header holds the fields that the records of all kinds have.
type header struct {
	name       string
	origin     *job.Origin
	rev        *int64
	generation int64
}

// version is a record and its revision at the time of the read. A nil record means that there is none, or that it is unreadable.
type version[R any] struct {
	record *R
	rev    int64 // revision of the record that the next write replaces; 0: there is none
}

// writes returns a function for each definition that differs from its file, by depth. The function writes the definition. Those of
// one depth may be called side by side. Those of a greater depth must follow: a step is skipped if a parent does not exist.
func (d *definitions[R]) writes(ctx context.Context) (byDepth [][]func() error) {
	for _, w := range d.wanted {
		known, _ := d.known(w.name)
		if _, changed := d.next(known, w, time.Time{}); changed {
			for len(byDepth) <= w.depth {
				byDepth = append(byDepth, nil)
			}
			byDepth[w.depth] = append(byDepth[w.depth], func() error { return d.write(ctx, known, w) })
		}
	}
	return byDepth
}

// removals returns a function for each definition that came from a file and is in no file now. The function removes the
// definition.
func (d *definitions[R]) removals(ctx context.Context) (removals []func() error) {
	names := make(map[string]bool, len(d.wanted))
	for _, w := range d.wanted {
		names[w.name] = true
	}
	for _, r := range d.present() {
		if h := d.header(r); !names[h.name] && h.origin.Kind == job.OriginFile {
			removals = append(removals, func() error { return d.delete(ctx, r) })
		}
	}
	return removals
}

// next returns the record that replaces known, and reports whether it is a change. A different file name alone is no change,
// because replicas may have the same definitions in different files.
func (d *definitions[R]) next(known *R, w wanted[R], now time.Time) (R, bool) {
	origin := job.Origin{Kind: job.OriginFile, Source: filepath.Base(w.file)}
	if known != nil && d.header(known).origin.Kind == job.OriginFile {
		origin = *d.header(known).origin
	}
	next, changed := w.define(known, origin, now)
	if changed {
		d.header(&next).origin.Source = filepath.Base(w.file)
	}
	return next, changed
}

// write writes one definition.
func (d *definitions[R]) write(ctx context.Context, known *R, w wanted[R]) error {
	_, err := store.Edit(ctx, d.knownFirst(known, w.name), func(v version[R]) (version[R], bool, error) {
		now := d.created
		if v.record != nil {
			var err error
			if now, err = d.now(ctx); err != nil {
				return v, false, err
			}
		}
		next, changed := d.next(v.record, w, now)
		return version[R]{&next, v.rev}, changed, nil
	}, func(ctx context.Context, v version[R]) (version[R], error) {
		h := d.header(v.record)
		*h.rev = v.rev
		_, err := d.put(ctx, *v.record)
		if err == nil {
			d.log.Info(d.kind+" defined", d.kind, w.name, "generation", h.generation, "file", w.file)
		}
		return v, err
	})
	return err
}

// delete removes a definition that is in no file now.
func (d *definitions[R]) delete(ctx context.Context, known *R) error {
	name := d.header(known).name
	_, err := store.Edit(ctx, d.knownFirst(known, name), func(v version[R]) (version[R], bool, error) {
		return v, v.record != nil && d.header(v.record).origin.Kind == job.OriginFile, nil
	}, func(ctx context.Context, v version[R]) (version[R], error) {
		err := d.remove(ctx, name, v.rev)
		if err == nil {
			d.log.Info(d.kind+" removed, no file defines it any more", d.kind, name)
		}
		return v, err
	})
	return err
}

// knownFirst returns a function that reads a record. Its first call returns known, which comes from the mirror. Later calls,
// after a conflict, read the store.
func (d *definitions[R]) knownFirst(known *R, name string) func(context.Context) (version[R], error) {
	first := version[R]{record: known}
	if known != nil {
		first.rev = *d.header(known).rev
	}
	return store.KnownFirst(first, func(ctx context.Context) (version[R], error) {
		r, err := d.read(ctx, name)
		switch {
		case errors.Is(err, job.ErrNotFound), errors.Is(err, job.ErrUnreadable) && store.Replaceable(d.family):
			return version[R]{rev: *d.header(&r).rev}, nil
		case err != nil:
			return version[R]{}, err
		}
		return version[R]{&r, *d.header(&r).rev}, nil
	})
}

// jobs returns the jobs of the set and of the store.
func (f *Files) jobs(created time.Time) *definitions[job.Job] {
	specs := make(map[string]*job.Spec, len(f.set.Jobs))
	for name, def := range f.set.Jobs {
		specs[name] = &def.Spec
	}
	return &definitions[job.Job]{
		kind: "job", family: store.KindJobs, log: f.log, now: f.replica.Now, present: f.mirror.Jobs, known: f.mirror.Job,
		read: f.store.Job, put: f.store.PutJob, remove: f.store.DeleteJob, created: created,
		wanted: wantedOf(f.set.Jobs, job.Define, workflow.Of(specs).Depths()),
		header: func(j *job.Job) header { return header{j.Name, &j.Origin, &j.Rev, j.Generation} },
	}
}

// limits returns the limits of the set and of the store.
func (f *Files) limits(created time.Time) *definitions[job.Limit] {
	return &definitions[job.Limit]{
		kind: "limit", family: store.KindLimits, log: f.log, now: f.replica.Now, present: f.mirror.Limits, known: f.mirror.Limit,
		read: f.store.Limit, put: f.store.PutLimit, remove: f.store.DeleteLimit, created: created,
		wanted: wantedOf(f.set.Limits, job.DefineLimit, nil),
		header: func(l *job.Limit) header { return header{l.Name, &l.Origin, &l.Rev, l.Generation} },
	}
}

// wantedOf returns the definitions of one kind in the files. define makes the record R of a spec. depths are those of jobs.
func wantedOf[R, S any](
	defs map[string]config.Defined[S], define func(known *R, name string, spec S, origin job.Origin, now time.Time) (R, bool),
	depths map[string]int,
) (list []wanted[R]) {
	for _, def := range defs {
		list = append(list, wanted[R]{def.Name, def.File, depths[def.Name], func(known *R, origin job.Origin, now time.Time) (R, bool) {
			return define(known, def.Name, def.Spec, origin, now)
		}})
	}
	return list
}

// writers is how many definitions are written at the same time. The store combines them into few transactions.
const writers = 16

// inStages calls the changes of each stage side by side, one stage after another. It stops when another set is in force.
func (f *Files) inStages(stages [][]func() error) error {
	var all error
	for _, changes := range stages {
		err := f.sideBySide(changes)
		if errors.Is(err, errOvertaken) {
			return err
		}
		all = errors.Join(all, err)
	}
	return all
}

// sideBySide calls all changes, up to writers of them at the same time. It stops when another set is in force.
func (f *Files) sideBySide(changes []func() error) error {
	errs := make([]error, len(changes))
	room := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for i, change := range changes {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if f.mirror.Files().Hash != f.set.Hash {
				errs[i] = errOvertaken
				return
			}
			errs[i] = change()
		})
	}
	wg.Wait()
	if slices.Contains(errs, errOvertaken) {
		return errOvertaken
	}
	return errors.Join(errs...)
}
