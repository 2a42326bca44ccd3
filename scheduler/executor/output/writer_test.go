package output_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
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
	w := output.New(dir, run, 1, 16, output.MaxFile)
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
	w := output.New(dir, run, 1, 100, output.MaxFile)
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
	w := output.New(dir, run, 1, 200, output.MaxFile)
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

// TestADiskThatDoesNotAnswerDoesNotBlockTheAttempt puts a pipe without a reader at the path of the file. Opening the pipe
// blocks.
func TestADiskThatDoesNotAnswerDoesNotBlockTheAttempt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := output.New(dir, run, 1, 200, output.MaxFile)
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
		t.Error("Write waits for the disk")
	}
	pipe, err := os.Open(file) // now the blocked write continues
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if late, err := io.ReadAll(pipe); string(late) != "output " || err != nil { // reads until the writer closes the pipe
		t.Errorf("bytes of the late write: got %q, %v, want the first of three", late, err)
	}
	<-printed
	want := "output output output \n[rota: output could not be kept in full on the worker: the disk does not answer]\n"
	if got := w.Tail(); got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
}

func TestDirectoryThatCannotBeMadeDoesNotFailTheAttempt(t *testing.T) {
	file := files.Write(t, filepath.Join(t.TempDir(), "file"), "")
	w := output.New(file, run, 1, 200, output.MaxFile)
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
			w := output.New(t.TempDir(), run, 1, 16, output.MaxFile)
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
			w := output.New(dir, run, 1, size, output.MaxFile)
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

func BenchmarkWrite(b *testing.B) {
	w := output.New(b.TempDir(), run, 1, job.OutputTail, output.MaxFile)
	defer w.Close()
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(p)
	}
}
