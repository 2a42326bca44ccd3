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
type Directory struct {
	path  string
	opens chan struct{} // holds a token for each call of Open under way, including those that were left behind
}

const (
	uploadChunk = 1 << 20 // bytes between two looks at the end of the context
	// maxOpens bounds the calls of Open under way. Each occupies a thread while the file server does not answer.
	maxOpens = 16
)

// NewDirectory returns the store in the directory at path.
func NewDirectory(path string) Directory { return Directory{path, make(chan struct{}, maxOpens)} }

// Put implements Store. It continues an interrupted copy where that stopped.
func (d Directory) Put(ctx context.Context, name string, in *os.File, before fs.FileInfo) error {
	if info, err := os.Stat(d.path); err != nil || !info.IsDir() {
		return fmt.Errorf("output store %s: it is no directory that exists", d.path)
	}
	final := filepath.Join(d.path, name)
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
	timeout := time.After(diskTimeout)
	select {
	case d.opens <- struct{}{}:
	case <-timeout:
		return nil, ErrNoAnswer
	}
	type result struct {
		file *os.File
		err  error
	}
	done, late := make(chan result), make(chan struct{})
	go func() { // the select below waits for it, except for a file server that hangs
		f, err := Open(d.path, run, attempt)
		<-d.opens
		select {
		case done <- result{f, err}:
		case <-late:
			_ = f.Close() // nil after an error, which Close refuses
		}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return r.file, nil
	case <-timeout:
		close(late)
		return nil, ErrNoAnswer
	}
}

// Sweep implements Store.
func (d Directory) Sweep(ctx context.Context, keep time.Duration, now time.Time) error {
	_, err := Sweep(ctx, d.path, Bounds{Age: keep}, now)
	return err
}
