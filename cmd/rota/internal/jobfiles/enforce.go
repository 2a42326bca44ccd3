package jobfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// historyOfFiles is the number of earlier sets that the store records. By this list, a replica recognises that its set is old
// after a long stop, even if it has lost its memory. The list takes 67 KB.
const historyOfFiles = 1000

var (
	// errNoFiles means that there is no set to put in force, and that none has ever been in force.
	errNoFiles = errors.New("no job files have ever been in force")
	// errOvertaken means that another set was put in force before all definitions of this one were written.
	errOvertaken = errors.New("other files were put in force meanwhile")
)

// mark is the record in the store that says which set is in force.
type mark struct {
	job.Files
	rev int64 // revision of the record, 0 if there is none. It differs from Files.Rev if the record is unreadable.
}

// enforce makes the definitions in the store equal to those of the set, unless the set is older than the one in force.
//
// It moves the mark first, by compare-and-set. If this process dies after that, some definitions are not written yet. Then every
// replica with the same files writes the rest. If another replica moves the mark, this replica stops, but it may already have
// written a definition of the old set. The replicas whose set is in force repair this. They compare the store with their files
// soon after they moved the mark, and then every checkEvery.
func (f *Files) enforce(ctx context.Context) error {
	defer f.show()
	defer f.remember()
	if f.set == nil {
		m, err := f.inForce(ctx)
		if err == nil && m.rev == 0 {
			err = errNoFiles
		}
		return err
	}
	inForce := false
	_, err := store.Edit(ctx, f.inForce, func(m mark) (next mark, changed bool, err error) {
		if inForce = m.Hash == f.set.Hash && m.Rev == m.rev; inForce || f.behind != "" {
			return m, false, nil
		}
		if f.behind = f.older(m.Files); f.behind != "" {
			f.edited, f.newer = false, 0
			f.log.Warn("job files are not in force: bring them up to date, or change a job in them", "path", f.cfg.Path,
				"reason", f.behind, "in_force", m.Hash)
			return m, false, nil
		}
		now, err := f.replica.Now(ctx)
		return mark{Files: f.successor(m, now), rev: m.rev}, true, err
	}, func(ctx context.Context, m mark) (mark, error) {
		written, err := f.store.PutFiles(store.WithAudit(ctx, job.Audit{
			At: m.At, Verb: job.VerbApplyFiles, Author: job.Author{Principal: "replica/" + f.cfg.Node, How: "file"},
		}), m.Files)
		if err != nil {
			return m, err
		}
		f.last, f.moved, inForce = written, true, true
		f.log.Info("job files are put in force", "path", f.cfg.Path, "jobs", len(f.set.Jobs), "hash", f.set.Hash)
		return mark{written, written.Rev}, nil
	})
	if err != nil || !inForce {
		return err
	}
	f.behind, f.newer = "", f.last.Rev+1
	if err := f.apply(ctx); err != nil {
		return err
	}
	f.edited = false
	return nil
}

// inForce reads the mark. If the record is unreadable, it returns the last readable mark, which tells which sets are older.
func (f *Files) inForce(ctx context.Context) (mark, error) {
	current, err := f.store.Files(ctx)
	switch {
	case errors.Is(err, job.ErrUnreadable):
		return mark{f.last, current.Rev}, nil
	case err != nil:
		return mark{}, err
	}
	f.last = current
	return mark{current, current.Rev}, nil
}

// older returns the reason why the set must not replace the one in force; "" if it may replace it.
func (f *Files) older(current job.Files) string {
	newer := current.Hash != "" && current.Rev >= f.newer
	switch {
	case f.edited && newer:
		return fmt.Sprintf("%s put other files in force after the edit", current.By)
	case !f.edited && (newer || slices.Contains(current.History, f.set.Hash)):
		return fmt.Sprintf("older than the files in force, which %s applied", current.By)
	}
	return ""
}

// successor returns the mark that follows m and puts the set in force.
func (f *Files) successor(m mark, now time.Time) job.Files {
	next := job.Files{Hash: f.set.Hash, By: f.cfg.Node, At: now, Rev: m.rev}
	next.History = slices.Insert(slices.Clone(m.History), 0, m.Hash)
	next.History = slices.DeleteFunc(next.History, func(h string) bool { return h == next.Hash || h == "" })
	next.History = next.History[:min(len(next.History), historyOfFiles)]
	return next
}

// apply writes the definitions that differ, and removes those that are in no file now. If one of them cannot be written, apply
// still writes the others. It stops when another set is in force.
func (f *Files) apply(ctx context.Context) error {
	if err := f.replica.CatchUp(ctx); err != nil {
		return err
	}
	now, err := f.replica.Now(ctx)
	if err != nil {
		return err
	}
	// A limit is written before the jobs that name it, and removed after them.
	jobs, limits := f.jobs(now), f.limits(now)
	limitsErr := f.inStages(limits.writes(ctx))
	jobsErr := f.inStages(append(jobs.writes(ctx), jobs.removals(ctx)))
	if err := errors.Join(limitsErr, jobsErr); err != nil {
		return err // a job that could not be written may still name a limit
	}
	return f.sideBySide(limits.removals(ctx))
}
