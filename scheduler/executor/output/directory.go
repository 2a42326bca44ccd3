package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Directory is a Store in a directory that all machines share. It must exist: a file system that is not mounted counts as away.
type Directory string

const uploadChunk = 1 << 20 // bytes between two looks at the end of the context

// Put implements Store. It continues an interrupted copy where that stopped.
func (d Directory) Put(ctx context.Context, name string, in *os.File, before fs.FileInfo) error {
	if info, err := os.Stat(string(d)); err != nil || !info.IsDir() {
		return fmt.Errorf("output store %s: it is no directory that exists", d)
	}
	final := filepath.Join(string(d), name)
	if there, err := os.Stat(final); err == nil && sameFile(there, before) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	part := final + "." + strconv.FormatInt(before.ModTime().UnixNano(), 36) + ".part" + suffix
	if err := resume(ctx, part, in, before.Size()); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	if changed(in, before) {
		_ = os.Remove(part) // otherwise a sweep removes it
		return nil
	}
	if err := os.Chtimes(part, time.Time{}, before.ModTime()); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	if err := os.Rename(part, final); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	return nil
}

// resume copies the first size bytes of in to the file part, from the end of the bytes that part already has.
func resume(ctx context.Context, part string, in io.ReadSeeker, size int64) (err error) {
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	at, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return err
	}
	for at < size {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.CopyN(out, in, min(uploadChunk, size-at))
		if at += n; err != nil && !errors.Is(err, io.EOF) {
			return err
		} else if err != nil {
			return nil // the file is shorter now: upload notices it
		}
	}
	return out.Sync()
}

// Open implements Store. It waits for a file server for a bounded time.
func (d Directory) Open(_ context.Context, run string, attempt int) (io.ReadCloser, error) {
	var f *os.File
	done := make(chan error, 1)
	go func() { // Answer waits for it, except for a file server that hangs
		var err error
		f, err = Open(string(d), run, attempt)
		done <- err
	}()
	if err := Answer(done, diskTimeout); err != nil {
		return nil, err
	}
	return f, nil
}

// Sweep implements Store.
func (d Directory) Sweep(ctx context.Context, keep time.Duration, now time.Time) error {
	_, err := Sweep(ctx, string(d), Bounds{Age: keep}, now)
	return err
}
