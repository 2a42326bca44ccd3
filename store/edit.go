package store

import (
	"context"
	"errors"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Edit changes one record by compare-and-set: it reads the record, changes it and writes it back. If another writer
// changed the record in between (write returns job.ErrConflict), Edit reads again and repeats. It returns the record
// that it wrote. If change reports no change, Edit writes nothing and returns the record that it read.
//
// Every other error ends the edit, and Edit returns it unwrapped. An error of read always ends the edit, even
// job.ErrConflict. So read can enforce a revision that the caller named: it returns job.ErrConflict if the record is at
// another revision.
//
// A removal is an edit as well: change reports whether there is something to remove, and write removes it.
func Edit[T any](
	ctx context.Context,
	read func(context.Context) (T, error),
	change func(T) (next T, changed bool, err error),
	write func(context.Context, T) (T, error),
) (T, error) {
	var none T
	for {
		current, err := read(ctx)
		if err != nil {
			return none, err
		}
		next, changed, err := change(current)
		switch {
		case err != nil:
			return none, err
		case !changed:
			return current, nil
		}
		written, err := write(ctx, next)
		if err == nil {
			return written, nil
		}
		if !errors.Is(err, job.ErrConflict) {
			return none, err
		}
	}
}

// KnownFirst returns a read function for Edit. Its first call returns known, such as the record of a mirror, without a
// request to etcd. Later calls use read.
func KnownFirst[T any](known T, read func(context.Context) (T, error)) func(context.Context) (T, error) {
	used := false
	return func(ctx context.Context) (T, error) {
		if !used {
			used = true
			return known, nil
		}
		return read(ctx)
	}
}
