package output

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/poll"
)

// uploads runs an uploader, and returns it with its directories, its latest report, and a function that ends it.
func uploads(t *testing.T, from string, to Store) (u *Uploader, report func() (int, error), stop func()) {
	t.Helper()
	var (
		mu      sync.Mutex
		left    = -1
		trouble error
	)
	u = NewUploader(UploadConfig{From: from, To: to, Keep: time.Hour, Now: time.Now, Report: func(n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		left, trouble = n, err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }() // stop waits for it
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return u, func() (int, error) { mu.Lock(); defer mu.Unlock(); return left, trouble }, stop
}

func put(t *testing.T, dir, run string, text string) {
	t.Helper()
	w := New(dir, run, 1, 100, MaxFile)
	_, _ = w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

var await = poll.Until

func stored(t *testing.T, store Store, run string) string {
	t.Helper()
	f, err := store.Open(t.Context(), run, 1)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	return string(b)
}

// stores returns a new store of each kind.
func stores(t *testing.T) map[string]Store {
	return map[string]Store{"directory": NewDirectory(t.TempDir()), "bucket": newServer(t).bucket(t)}
}

func TestOutputIsUploaded(t *testing.T) {
	for kind, to := range stores(t) {
		t.Run(kind, func(t *testing.T) {
			from := t.TempDir()
			put(t, from, "a/earlier", "before the start")
			u, _, stop := uploads(t, from, to)
			put(t, from, "a/later", "after it")
			u.Add("a/later", 1)
			await(t, "both are in the store", func() bool {
				return stored(t, to, "a/earlier") == "before the start" && stored(t, to, "a/later") == "after it"
			})
			put(t, from, "a/later", "a second execution under the same number")
			u.Add("a/later", 1)
			await(t, "it is replaced", func() bool { return strings.HasPrefix(stored(t, to, "a/later"), "a second") })
			u.Add("a/never", 1) // it printed nothing
			(*Uploader)(nil).Add("a/x", 1)
			stop()
			if err := os.RemoveAll(from); err != nil {
				t.Fatal(err)
			}
			if stored(t, to, "a/earlier") == "" {
				t.Error("the store depends on the worker")
			}
			if _, err := to.Open(t.Context(), "a/never", 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("output that is missing: got %v, want fs.ErrNotExist", err)
			}
			put(t, from, "a/again", "of the next process")
			_, report, _ := uploads(t, from, to)
			await(t, "the next process uploads the rest", func() bool { return stored(t, to, "a/again") == "of the next process" })
			if _, err := report(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Output that is added while its upload is under way is uploaded again.
func TestOutputIsAddedDuringItsUpload(t *testing.T) {
	u := NewUploader(UploadConfig{From: t.TempDir()})
	u.Add("a/x", 1)
	name, _ := u.first()
	u.begin(name)
	u.Add("a/x", 1)
	u.removeFirst()
	if again, waiting := u.first(); again != name || waiting != 1 {
		t.Errorf("%q and %d files wait, want %q", again, waiting, name)
	}
}

// An upload that was interrupted goes on where it stopped.
func TestAnUploadIsResumed(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	text := strings.Repeat("0123456789", 1<<18)
	put(t, from, "a/x", text)
	name := path(from, "a/x", 1)
	u := NewUploader(UploadConfig{From: from, To: NewDirectory(to)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rel, _ := filepath.Rel(from, name)
	if err := u.upload(ctx, rel); err == nil {
		t.Fatal("an upload without time succeeds")
	}
	parts, _ := filepath.Glob(filepath.Join(to, "a", "*.part"+suffix))
	if len(parts) != 1 || stored(t, NewDirectory(to), "a/x") != "" {
		t.Fatalf("got %q, want one part, and no file", parts)
	}
	files.Write(t, parts[0], "X"+text[1:1000]) // the X shows that the beginning is kept
	if err := u.upload(t.Context(), rel); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, NewDirectory(to), "a/x"); got != "X"+text[1:] {
		t.Errorf("got %d bytes that begin with %.10q", len(got), got)
	}
	if parts, _ := filepath.Glob(filepath.Join(to, "a", "*.part"+suffix)); len(parts) != 0 {
		t.Errorf("parts are left: %q", parts)
	}
}

// While the store is away, output waits. It is uploaded when the store is there again.
func TestAStoreThatIsAwayIsReported(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "mount")
	u, report, _ := uploads(t, from, NewDirectory(to))
	put(t, from, "a/x", "text")
	u.Add("a/x", 1)
	await(t, "the trouble is reported", func() bool { n, err := report(); return n == 1 && err != nil })
	if _, err := os.Stat(to); err == nil {
		t.Error("the uploader made the store, which may be a file system that is not mounted")
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	await(t, "it is uploaded", func() bool {
		n, err := report()
		return n == 0 && err == nil && stored(t, NewDirectory(to), "a/x") == "text"
	})
}

// Old output is removed from the store.
func TestTheStoreIsSwept(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	put(t, to, "a/old", "text")
	put(t, to, "a/new", "text")
	if err := os.Chtimes(path(to, "a/old", 1), time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	uploads(t, from, NewDirectory(to))
	await(t, "the old one is removed", func() bool { return stored(t, NewDirectory(to), "a/old") == "" })
	if stored(t, NewDirectory(to), "a/new") == "" {
		t.Error("the newer one is removed too")
	}
}

// slowSweep is a store with so much output that a sweep does not end.
type slowSweep struct{ Store }

func (slowSweep) Sweep(ctx context.Context, _ time.Duration, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestASweepDelaysNoUpload(t *testing.T) {
	from, to := t.TempDir(), NewDirectory(t.TempDir())
	u, report, _ := uploads(t, from, slowSweep{to})
	put(t, from, "a/x", "text")
	u.Add("a/x", 1)
	await(t, "it is uploaded", func() bool { n, err := report(); return n == 0 && err == nil && stored(t, to, "a/x") == "text" })
}
