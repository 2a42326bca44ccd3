package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// UploadConfig configures an Uploader.
type UploadConfig struct {
	From string        // directory with the output of this worker
	To   Store         // keeps the output beyond this worker
	Keep time.Duration // output in To that is older is removed
	Now  func() time.Time
	// Report is called when the number of files that wait, or the trouble, has changed. trouble is why the files are not uploaded;
	// nil: they are.
	Report func(waiting int, trouble error)
}

// Store keeps output beyond its worker. Names are paths of files below the directory of a worker.
type Store interface {
	// Put copies the file in, of which before is the description. It does nothing if the store has it. The output appears in the
	// store when it is complete. If the file changes meanwhile, Put may leave it out.
	Put(ctx context.Context, name string, in *os.File, before fs.FileInfo) error
	// Open opens the output of an attempt. The error is fs.ErrNotExist if the store does not have it. ctx must last until the reader
	// is closed.
	Open(ctx context.Context, run string, attempt int) (io.ReadCloser, error)
	// Sweep removes output that is older than keep.
	Sweep(ctx context.Context, keep time.Duration, now time.Time) error
}

// Uploader copies output that is complete to a store, so that it outlives this worker. It works in the background and delays no
// attempt. After an interruption it continues where it stopped, also in another process.
type Uploader struct {
	cfg  UploadConfig
	more chan struct{} // holds a token if names may have grown

	mu    sync.Mutex
	names []string        // guarded by mu: paths below From that wait, the next one first
	known map[string]bool // guarded by mu: the elements of names whose upload has not begun
}

const (
	uploadHung      = 10 * time.Second // a store that takes longer for one file counts as silent
	uploadPause     = 500 * time.Millisecond
	uploadLastPause = 30 * time.Second // longest pause after failures
	uploadStop      = time.Second      // how long Run waits for the store at its end
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
	u.add(fileName(run, attempt))
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
	var wg sync.WaitGroup
	wg.Go(func() { u.sweep(ctx) })
	defer wg.Wait()
	failed := map[string]bool{} // files whose latest upload failed
	var trouble error
	for pause := uploadPause; ; {
		name, waiting := u.first()
		if name == "" {
			select {
			case <-ctx.Done():
				return nil
			case <-u.more:
			}
			continue
		}
		u.begin(name)
		err := call(ctx, func() error { return u.upload(ctx, name) }, u.reportHung)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			u.removeFirst()
			if delete(failed, name); len(failed) == 0 {
				trouble = nil
			}
			u.cfg.Report(waiting-1, trouble)
			pause = uploadPause
			continue
		}
		u.postponeFirst()
		failed[name], trouble = true, err
		u.cfg.Report(waiting, trouble)
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

// sweep removes old output from the store until ctx ends. An error is no trouble of an upload, and the next sweep repeats it. A
// sweep ends after keepEvery at the latest, because a store may stop answering in its middle.
func (u *Uploader) sweep(ctx context.Context) {
	for {
		_ = call(ctx, func() error {
			ctx, cancel := context.WithTimeout(ctx, keepEvery)
			defer cancel()
			return u.cfg.To.Sweep(ctx, u.cfg.Keep, u.cfg.Now())
		}, func() {})
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepEvery):
		}
	}
}

func (u *Uploader) reportHung() {
	_, waiting := u.first()
	u.cfg.Report(waiting, ErrNoAnswer)
}

// call calls f. It calls hung if f takes long. If ctx ends, it leaves f behind after uploadStop.
func call(ctx context.Context, f func() error, hung func()) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // call waits for it, except for one that hangs at the end of ctx
	long := time.After(uploadHung)
	for {
		select {
		case err := <-done:
			return err
		case <-long:
			hung()
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

// postponeFirst makes the next file the last one, so that a file that cannot be uploaded holds up no others. If Add has added it
// again meanwhile, it waits already.
func (u *Uploader) postponeFirst() {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := u.names[0]
	u.names = u.names[1:]
	if !u.known[name] {
		u.known[name] = true
		u.names = append(u.names, name)
	}
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
	return u.cfg.To.Put(ctx, name, in, before)
}

// changed reports whether a file is no longer as before describes it.
func changed(in *os.File, before fs.FileInfo) bool {
	after, err := in.Stat()
	return err != nil || !sameFile(after, before)
}

// sameFile reports whether two files have the same size and time. File systems keep fractions of seconds differently.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Unix() == b.ModTime().Unix()
}
