package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// historyOfFiles is how many earlier sets the store remembers, for replicas that were away for long and have lost their own
// memory: 67 KB.
const historyOfFiles = 1000

// writers is how many definitions are written at a time. The store gathers them into few transactions.
const writers = 16

var (
	// errNoFiles is returned when there are no job files that could be in force.
	errNoFiles = errors.New("no job files have ever been in force")
	// errOvertaken is returned when other files were put in force before all jobs of ours were written.
	errOvertaken = errors.New("other files were put in force meanwhile")
)

// enforce makes the store's file jobs those of the set, unless the set is older than the one in force.
//
// The mark in the store says which set is in force; it is moved first, by compare and set. Who dies after that leaves a mark
// whose jobs are not all written: whoever has the same files, and this replica when it is back, writes the rest. Who is
// overtaken by another mark stops, but may have written a definition too much: those who have the files in force look for
// that, soon after they moved the mark and then every checkEvery, and put it right.
func (f *files) enforce(ctx context.Context) error {
	defer f.show()
	defer f.keep()
	for {
		current, rev, err := f.inForce(ctx)
		switch {
		case err != nil:
			return err
		case f.set == nil && rev == 0:
			return errNoFiles
		case f.set == nil:
			return nil
		case current.Hash == f.set.Hash && current.Rev == rev:
			return f.confirm(ctx)
		}
		if f.behind != "" {
			return nil
		}
		if f.behind = f.older(current); f.behind != "" {
			f.edited, f.newer = false, 0
			f.node.log.Warn("job files are not in force: bring them up to date, or change a job in them", "path", f.path,
				"reason", f.behind, "in_force", current.Hash)
			return nil
		}
		now, err := f.node.clusterNow(ctx)
		if err != nil {
			return err
		}
		next, err := f.node.store.PutFiles(ctx, f.mark(current, rev, now))
		switch {
		case errors.Is(err, job.ErrConflict):
			continue
		case err != nil:
			return err
		}
		f.last, f.moved = next, true
		f.node.log.Info("job files are put in force", "path", f.path, "jobs", len(f.set.Jobs), "hash", f.set.Hash)
		return f.confirm(ctx)
	}
}

// inForce reads the mark, and the revision at which the next one takes its place. Instead of a mark that nobody can read it
// returns the last one that could be: which files are older than others is known from that.
func (f *files) inForce(ctx context.Context) (current job.Files, rev int64, err error) {
	current, err = f.node.store.Files(ctx)
	switch {
	case errors.Is(err, job.ErrUnreadable):
		return f.last, current.Rev, nil
	case err != nil:
		return current, 0, err
	}
	f.last = current
	return current, current.Rev, nil
}

// confirm has the jobs of a set that is in force written.
func (f *files) confirm(ctx context.Context) error {
	f.behind, f.newer = "", f.last.Rev+1
	if err := f.apply(ctx); err != nil {
		return err
	}
	f.edited = false
	return nil
}

// older says why the set must not replace the one in force; "" if it may.
func (f *files) older(current job.Files) string {
	newer := current.Hash != "" && current.Rev >= f.newer
	switch {
	case f.edited && newer:
		return fmt.Sprintf("%s put other files in force after the edit", current.By)
	case !f.edited && (newer || slices.Contains(current.History, f.set.Hash)):
		return fmt.Sprintf("older than the files in force, which %s applied", current.By)
	}
	return ""
}

// mark is the mark that puts the set in force after current, in the place of what is at rev.
func (f *files) mark(current job.Files, rev int64, now time.Time) job.Files {
	next := job.Files{Hash: f.set.Hash, By: f.node.set.Node.Name, At: now, Rev: rev}
	next.History = slices.Insert(slices.Clone(current.History), 0, current.Hash)
	next.History = slices.DeleteFunc(next.History, func(h string) bool { return h == next.Hash || h == "" })
	next.History = next.History[:min(len(next.History), historyOfFiles)]
	return next
}

// apply writes the definitions that differ and removes those of files that are gone. One that cannot be written does not
// hold up the others; but once other files are in force, nothing more is written.
func (f *files) apply(ctx context.Context) error {
	if err := f.node.catchUp(ctx); err != nil {
		return err
	}
	limits := f.applyLimits(ctx)
	var changes []func() error
	for _, d := range f.set.Jobs {
		known, _ := f.node.mirror.Job(d.Name)
		if _, changed := f.defined(known, d, time.Time{}); changed {
			changes = append(changes, func() error { return f.define(ctx, known, d) })
		}
	}
	for _, j := range f.node.mirror.Jobs() {
		if _, defined := f.set.Jobs[j.Name]; !defined && j.Origin.Kind == job.OriginFile {
			changes = append(changes, func() error { return f.remove(ctx, j) })
		}
	}
	if err := errors.Join(limits, f.sideBySide(changes)); err != nil {
		return err // a job that could not be written may still name a limit that is gone
	}
	return f.removeLimits(ctx)
}

// sideBySide does all of them, writers at a time, as long as the files are in force.
func (f *files) sideBySide(changes []func() error) error {
	errs := make([]error, len(changes))
	room := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for i, change := range changes {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if f.node.mirror.Files().Hash != f.set.Hash {
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

// defined is the definition that d makes at now of what is known, and whether that is a change. Which file a job stands in does
// not matter: replicas may have the same jobs in other files.
func (f *files) defined(known *job.Job, d config.Definition, now time.Time) (job.Job, bool) {
	origin := job.Origin{Kind: job.OriginFile, Source: filepath.Base(d.File)}
	if known != nil && known.Origin.Kind == job.OriginFile {
		origin = known.Origin
	}
	next, changed := job.Define(known, d.Name, d.Spec, origin, now)
	if changed {
		next.Origin.Source = filepath.Base(d.File)
	}
	return next, changed
}

// define writes one definition, against whoever else writes it at the same time.
func (f *files) define(ctx context.Context, known *job.Job, d config.Definition) error {
	for {
		now, err := f.node.clusterNow(ctx)
		if err != nil {
			return err
		}
		next, changed := f.defined(known, d, now)
		if !changed {
			return nil
		}
		_, err = f.node.store.PutJob(ctx, next)
		if err == nil {
			f.node.log.Info("job defined", "job", d.Name, "generation", next.Generation, "file", d.File)
			return nil
		}
		if !errors.Is(err, job.ErrConflict) {
			return err
		}
		if known, err = f.present(ctx, d.Name); err != nil {
			return err
		}
	}
}

// remove removes the job that no file defines any more, against whoever else changes it at the same time.
func (f *files) remove(ctx context.Context, j *job.Job) error {
	for j != nil && j.Origin.Kind == job.OriginFile {
		err := f.node.store.DeleteJob(ctx, j.Name, j.Rev)
		if err == nil {
			f.node.log.Info("job removed, no file defines it any more", "job", j.Name)
			return nil
		}
		if !errors.Is(err, job.ErrConflict) {
			return err
		}
		if j, err = f.present(ctx, j.Name); err != nil {
			return err
		}
	}
	return nil
}

// present reads a definition as it stands; nil if there is none.
func (f *files) present(ctx context.Context, name string) (*job.Job, error) {
	return ifFound(f.node.store.Job(ctx, name))
}

// ifFound is what was read; nil if there is none.
func ifFound[T any](record T, err error) (*T, error) {
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &record, nil
}
