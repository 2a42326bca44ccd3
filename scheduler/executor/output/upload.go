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
	"strings"
	"sync"
	"time"
)

// UploadConfig configures an Uploader.
type UploadConfig struct {
	From string        // directory with the output of this worker
	To   string        // shared directory. It must exist: an Uploader does not create it
	Keep time.Duration // files in To that are older are removed
	Now  func() time.Time
	// Report is called when the number of files that wait, or the trouble, has changed. trouble is why the files are not uploaded;
	// nil: they are.
	Report func(waiting int, trouble error)
}

// Uploader copies output that is complete to a shared directory, so that it outlives this worker. It works in the background and
// delays no attempt. After an interruption it continues where it stopped, also in another process. A file appears in the shared
// directory when it is complete.
type Uploader struct {
	cfg  UploadConfig
	more chan struct{} // holds a token if names may have grown

	mu    sync.Mutex
	names []string        // guarded by mu: paths below From that wait, the next one first
	known map[string]bool // guarded by mu: the elements of names whose upload has not begun
}

const (
	uploadChunk     = 1 << 20          // bytes between two looks at the end of the context
	uploadHung      = 10 * time.Second // a file server that takes longer for one file counts as silent
	uploadPause     = 500 * time.Millisecond
	uploadLastPause = 30 * time.Second // longest pause after failures
	uploadStop      = time.Second      // how long Run waits for the file server at its end
	flushPoll       = 20 * time.Millisecond
	keepEvery       = 6 * time.Hour
)

// NewUploader returns an uploader, which does nothing until Run.
func NewUploader(cfg UploadConfig) *Uploader {
	return &Uploader{cfg: cfg, more: make(chan struct{}, 1), known: map[string]bool{}}
}

// Add makes the output of an attempt wait for its upload. A nil Uploader ignores it.
func (u *Uploader) Add(run string, attempt int) {
	if u == nil {
		return
	}
	if name, err := filepath.Rel(u.cfg.From, path(u.cfg.From, run, attempt)); err == nil {
		u.add(name)
	}
}

func (u *Uploader) add(name string) {
	u.mu.Lock()
	if !u.known[name] {
		u.known[name] = true
		u.names = append(u.names, name)
	}
	u.mu.Unlock()
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// Run uploads until ctx ends. It begins with the output that earlier processes left. A call to a file server that does not answer
// cannot be canceled: Run leaves it behind.
func (u *Uploader) Run(ctx context.Context) error {
	u.addAll(ctx)
	keep := time.NewTimer(0)
	defer keep.Stop()
	for pause := uploadPause; ; {
		name, waiting := u.first()
		if name == "" {
			select {
			case <-ctx.Done():
				return nil
			case <-u.more:
			case <-keep.C:
				keep.Reset(keepEvery)
				_ = u.call(ctx, func() error {
					_, err := Sweep(ctx, u.cfg.To, Bounds{Age: u.cfg.Keep}, u.cfg.Now())
					return err
				})
			}
			continue
		}
		u.begin(name)
		err := u.call(ctx, func() error { return u.upload(ctx, name) })
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			u.removeFirst()
			u.cfg.Report(waiting-1, nil)
			pause = uploadPause
			continue
		}
		u.cfg.Report(waiting, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, uploadLastPause)
	}
}

// Flush waits until no output waits, or ctx ends.
func (u *Uploader) Flush(ctx context.Context) {
	poll := time.NewTicker(flushPoll)
	defer poll.Stop()
	for {
		if name, _ := u.first(); name == "" {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

// call calls f, and reports if it takes long. If ctx ends, it leaves f behind after uploadStop.
func (u *Uploader) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // the loop waits for it, except for a call that hangs at the end of ctx
	hung := time.NewTimer(uploadHung)
	defer hung.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-hung.C:
			_, waiting := u.first()
			u.cfg.Report(waiting, ErrNoAnswer)
		case <-ctx.Done():
			return Answer(done, uploadStop)
		}
	}
}

// first returns the next file and how many files wait. The name is empty if none does.
func (u *Uploader) first() (name string, waiting int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) > 0 {
		name = u.names[0]
	}
	return name, len(u.names)
}

// begin lets Add add a file again whose upload begins. Otherwise output that is written meanwhile would not be uploaded.
func (u *Uploader) begin(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.known, name)
}

func (u *Uploader) removeFirst() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.names = u.names[1:]
}

// addAll adds all output of this worker.
func (u *Uploader) addAll(ctx context.Context) {
	_ = filepath.WalkDir(u.cfg.From, func(file string, d fs.DirEntry, err error) error { // what cannot be read cannot be uploaded
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(file, suffix) {
			if name, err := filepath.Rel(u.cfg.From, file); err == nil {
				u.add(name)
			}
		}
		return nil
	})
}

// upload copies one file. If the file changes meanwhile, its attempt is not over, and the end of the attempt adds it again.
func (u *Uploader) upload(ctx context.Context, name string) error {
	in, err := os.Open(filepath.Join(u.cfg.From, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a sweep has removed it
	}
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	defer in.Close()
	before, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	if info, err := os.Stat(u.cfg.To); err != nil || !info.IsDir() {
		return fmt.Errorf("output store %s: it is no directory that exists", u.cfg.To)
	}
	final := filepath.Join(u.cfg.To, name)
	if there, err := os.Stat(final); err == nil && sameFileAs(there, before) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	part := final + "." + strconv.FormatInt(before.ModTime().UnixNano(), 36) + ".part" + suffix
	if err := resume(ctx, part, in, before.Size()); err != nil {
		return fmt.Errorf("output store: %w", err)
	}
	if after, err := in.Stat(); err != nil || !sameFileAs(after, before) {
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

// sameFileAs reports whether two files have the same size and time. File systems keep fractions of seconds differently.
func sameFileAs(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Unix() == b.ModTime().Unix()
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

// OpenStored opens the output of an attempt in a shared directory. It waits for a file server for a bounded time.
func OpenStored(dir, run string, attempt int) (*os.File, error) {
	var f *os.File
	done := make(chan error, 1)
	go func() { // Answer waits for it, except for a file server that hangs
		var err error
		f, err = Open(dir, run, attempt)
		done <- err
	}()
	if err := Answer(done, diskTimeout); err != nil {
		return nil, err
	}
	return f, nil
}
