package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAShortageOfAMoment lets the start of a program fail a few times, while others can be started.
func TestAShortageOfAMoment(t *testing.T) {
	for name, tc := range map[string]struct {
		err          error
		fails, tries int
	}{
		"no shortage":        {syscall.EACCES, 1, 1},
		"two failed forks":   {syscall.EAGAIN, 2, 3},
		"a crowded machine":  {syscall.ENOMEM, 5, 6},
		"limits of the job":  {syscall.EAGAIN, 100, 6},
		"a busy program":     {syscall.ETXTBSY, 1, 2},
		"a program for ever": {syscall.ETXTBSY, 100, 6},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			began := time.Now()
			_, err := startPatiently(t.Context(), nil, func() (*process, error) {
				if tries++; tries <= tc.fails {
					return nil, fmt.Errorf("fork/exec: %w", tc.err)
				}
				return nil, nil
			})
			if tries != tc.tries || (err != nil) != (tc.fails >= tc.tries) {
				t.Errorf("%d tries in %v end with %v, want %d", tries, time.Since(began), err, tc.tries)
			}
		})
	}
	t.Run("no longer than the attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), firstStartPause/2)
			defer cancel()
			began := time.Now()
			_, err := startPatiently(ctx, nil, func() (*process, error) { return nil, syscall.ETXTBSY })
			if took := time.Since(began); err == nil || took != firstStartPause/2 {
				t.Errorf("ended after %v with %v", took, err)
			}
		})
	})
}

// TestAProgramThatIsBeingWritten starts a program that another one still has open for writing, as cp has.
func TestAProgramThatIsBeingWritten(t *testing.T) {
	text, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	attempt := func(ctx context.Context) job.Outcome {
		req := executor.Request{Spec: job.Spec{Command: []string{path}}, Output: io.Discard}
		return New(Config{}, time.Now).Execute(ctx, req)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, executor.ErrTimeout)
	defer cancel()
	if o := attempt(ctx); o.State != job.TimedOut {
		t.Errorf("while the program is being written: %+v, want timed out", o)
	}
	time.AfterFunc(100*time.Millisecond, func() { f.Close() })
	if o := attempt(t.Context()); o.State != job.Succeeded {
		t.Errorf("got %+v, want succeeded", o)
	}
}
