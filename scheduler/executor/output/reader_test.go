package output_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

func TestRunNamesCannotLeaveTheDirectory(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	names := []string{"../x", "..", "a/../../x", "a/..", "", "/", "a/" + strings.Repeat("ü", 300), "a/" + strings.Repeat("ü", 301), "a/b/c", "a/b%2Fc"}
	for i, name := range names {
		w := output.New(inner, name, 1, 100, output.MaxFile)
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
		// "" and "/" are not names of runs. They share one file.
		if got := string(b); got != fmt.Sprint(i) && name != "" {
			t.Errorf("%q: got the output of %s", name, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestFollowCopiesNewOutput(t *testing.T) {
	dir := t.TempDir()
	var ended atomic.Bool
	r, pipe := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := output.Follow(t.Context(), dir, run, 1, pipe, ended.Load)
		pipe.Close()
		done <- err
	}()
	w := output.New(dir, run, 1, 100, output.MaxFile)
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
