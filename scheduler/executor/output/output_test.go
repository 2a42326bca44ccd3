package output_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const run = "backup/2026-11-21T02:30:00Z"

func content(t *testing.T, dir string, attempt int) string {
	t.Helper()
	f, err := output.Open(dir, run, attempt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFileKeepsEverythingBelowTheCap(t *testing.T) {
	dir := t.TempDir()
	w := output.New(dir, run, 1, 16, 0)
	for range 10 {
		fmt.Fprintln(w, "0123456789")
	}
	if got, want := content(t, dir, 1), strings.Repeat("0123456789\n", 10); got != want {
		t.Errorf("file while open: got %q, want %q", got, want)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Tail(), "6789\n0123456789\n"; got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
	fmt.Fprint(w, "after the end")
	if got := content(t, dir, 1) + w.Tail(); strings.Contains(got, "after") {
		t.Errorf("a write after Close was kept: %q", got)
	}
}

func TestFileStopsAtTheCapAndTheTailGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := output.New(dir, run, 1, 100, 10)
	fmt.Fprint(w, "0123456789abc")
	fmt.Fprint(w, "the last words")
	w.Close()
	if got, want := content(t, dir, 1), "0123456789\n[rota: output is longer than the limit; the rest was not kept]\n"; got != want {
		t.Errorf("file: got %q, want %q", got, want)
	}
	if got, want := w.Tail(), "0123456789abcthe last words"; got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
}

func TestSilentAttemptHasNoFile(t *testing.T) {
	dir := t.TempDir()
	w := output.New(dir, run, 1, 100, 0)
	w.Write(nil)
	w.Close()
	if _, err := output.Open(dir, run, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if w.Tail() != "" {
		t.Errorf("tail %q, want none", w.Tail())
	}
}

func TestFullDiskDoesNotFailTheAttempt(t *testing.T) {
	dir := t.TempDir()
	w := output.New(dir, run, 1, 200, 0)
	file := filepath.Join(dir, "backup", "2026-11-21T02%3A30%3A00Z.1.out")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", file); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n, err := fmt.Fprint(w, "output "); n != 7 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	want := "output output output \n[rota: output could not be kept in full on the worker: no space left on device]\n"
	if got := w.Tail(); got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A pipe that nobody reads is in the place of the file, so that its opening does not return.
func TestADiskThatDoesNotAnswerDoesNotHoldTheAttemptUp(t *testing.T) {
	dir := t.TempDir()
	w := output.New(dir, run, 1, 200, 0)
	file := filepath.Join(dir, "backup", "2026-11-21T02%3A30%3A00Z.1.out")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for range 3 {
			fmt.Fprint(w, "output ")
		}
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	select {
	case <-printed:
	case <-time.After(10 * time.Second):
		t.Error("whoever prints waits for the disk")
	}
	pipe, err := os.Open(file) // what was stuck goes on
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if late, err := io.ReadAll(pipe); string(late) != "output " || err != nil { // to the end, that is until it is closed
		t.Errorf("what came late: got %q, %v, want the first of three", late, err)
	}
	<-printed
	want := "output output output \n[rota: output could not be kept in full on the worker: the disk does not answer]\n"
	if got := w.Tail(); got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
}

func TestDirectoryThatCannotBeMadeDoesNotFailTheAttempt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := output.New(file, run, 1, 200, 0)
	fmt.Fprint(w, "hello")
	if got := w.Tail(); !strings.HasPrefix(got, "hello\n[rota: output could not be kept") {
		t.Errorf("tail %q", got)
	}
}

func TestTailIsPrintableAndBounded(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", "grün\tok\n", "grün\tok\n"},
		{"binary", "a\xff\xfe\x00b", "a\uFFFD\uFFFDb"},
		{"colour", "\x1b[31mred", "\x1b[31mred"},
		{"a cut character", strings.Repeat("x", 20) + "ü" + strings.Repeat("y", 15), strings.Repeat("y", 15)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := output.New(t.TempDir(), run, 1, 16, 0)
			fmt.Fprint(w, tt.in)
			if got := w.Tail(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("anything", func(t *testing.T) {
		dir := t.TempDir()
		rapid.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(1, 40).Draw(t, "size")
			w := output.New(dir, run, 1, size, 0)
			defer w.Close()
			for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 50)).Draw(t, "writes") {
				w.Write(p)
			}
			if got := w.Tail(); !utf8.ValidString(got) || len(got) > size {
				t.Fatalf("tail %q of %d bytes, want valid UTF-8 of at most %d", got, len(got), size)
			}
		})
	})
}

func TestRunNamesCannotLeaveTheDirectory(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	names := []string{"../x", "..", "a/../../x", "a/..", "", "/", "a/" + strings.Repeat("ü", 300), "a/" + strings.Repeat("ü", 301), "a/b/c", "a/b%2Fc"}
	for i, name := range names {
		w := output.New(inner, name, 1, 100, 0)
		fmt.Fprint(w, i)
		if err := w.Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for i, name := range names {
		f, err := output.Open(inner, name, 1)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		b, _ := io.ReadAll(f)
		f.Close()
		// "" and "/" name the same nothing.
		if got := string(b); got != fmt.Sprint(i) && name != "" {
			t.Errorf("%q: got the output of %s", name, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestFollowSeesWhatComes(t *testing.T) {
	dir := t.TempDir()
	var ended atomic.Bool
	r, pipe := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := output.Follow(t.Context(), dir, run, 1, pipe, ended.Load)
		pipe.Close()
		done <- err
	}()
	w := output.New(dir, run, 1, 100, 0)
	buf := make([]byte, 100)
	for _, s := range []string{"first", "second"} {
		fmt.Fprint(w, s)
		n, err := io.ReadFull(r, buf[:len(s)])
		if err != nil || string(buf[:n]) != s {
			t.Fatalf("got %q, %v; want %q", buf[:n], err, s)
		}
	}
	fmt.Fprint(w, "last")
	w.Close()
	ended.Store(true)
	if rest, err := io.ReadAll(r); string(rest) != "last" || err != nil {
		t.Errorf("got %q, %v; want last", rest, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Follow: %v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if err := output.Follow(ctx, dir, "no/such", 1, io.Discard, func() bool { return false }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("canceled Follow: got %v, want the cause", err)
	}
}

func TestSweepRemovesTheOldAndTheTooMuch(t *testing.T) {
	dir, start := t.TempDir(), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := 1; i <= 5; i++ { // attempt i was written on day i
		w := output.New(dir, run, i, 100, 0)
		fmt.Fprint(w, strings.Repeat("x", 100))
		w.Close()
		f, err := output.Open(dir, run, i)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		day := start.AddDate(0, 0, i-1)
		if err := os.Chtimes(f.Name(), day, day); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(dir, "backup", "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := func() (s []int) {
		for i := 1; i <= 6; i++ {
			if f, err := output.Open(dir, run, i); err == nil {
				f.Close()
				s = append(s, i)
			}
		}
		return s
	}
	sweep := func(bounds output.Bounds, removed int, want ...int) {
		t.Helper()
		n, err := output.Sweep(t.Context(), dir, bounds, start.AddDate(0, 0, 5))
		if err != nil || n != removed || fmt.Sprint(kept()) != fmt.Sprint(want) {
			t.Errorf("Sweep = %d, %v, left %v; want %d and %v left", n, err, kept(), removed, want)
		}
	}
	sweep(output.Bounds{}, 0, 1, 2, 3, 4, 5)
	sweep(output.Bounds{Age: 100 * time.Hour}, 1, 2, 3, 4, 5)
	sweep(output.Bounds{Files: 3}, 1, 3, 4, 5)
	sweep(output.Bounds{Bytes: 2*output.Block + 250}, 1, 4, 5)
	sweep(output.Bounds{Bytes: 4 * output.Block, Files: 4}.Half(), 0, 4, 5)

	w := output.New(dir, run, 5, 100, 0) // again, and being written
	fmt.Fprint(w, strings.Repeat("x", 100))
	f, _ := output.Open(dir, run, 5)
	f.Close()
	if err := os.Chtimes(f.Name(), start, start); err != nil {
		t.Fatal(err)
	}
	sweep(output.Bounds{Age: time.Hour, Bytes: 1, Files: 1}, 1, 5)
	w.Close()
	sweep(output.Bounds{Age: time.Hour, Bytes: 1}, 1)
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another file was removed: %v", err)
	}
	if n, err := output.Sweep(t.Context(), filepath.Join(dir, "nowhere"), output.Bounds{Age: time.Hour, Bytes: 1}, start); n != 0 || err != nil {
		t.Errorf("directory that does not exist: %d, %v", n, err)
	}
}

func BenchmarkWrite(b *testing.B) {
	w := output.New(b.TempDir(), run, 1, job.OutputTail, 0)
	defer w.Close()
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(p)
	}
}

func TestSweepCountsWhatALongFileTakes(t *testing.T) {
	dir := t.TempDir()
	for i, size := range []int{3 * output.Block, 1} { // the long one is the older
		w := output.New(dir, run, i+1, 100, 0)
		fmt.Fprint(w, strings.Repeat("x", size))
		w.Close()
		f, err := output.Open(dir, run, i+1)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := os.Chtimes(f.Name(), time.Unix(int64(i), 0), time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := output.Sweep(t.Context(), dir, output.Bounds{Bytes: 3 * output.Block}, time.Unix(10, 0)); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want the long one removed", n, err)
	}
}
