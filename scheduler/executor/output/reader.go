package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Open opens the output of an attempt. The error is fs.ErrNotExist if there is none: the attempt printed nothing, ran on
// another worker, or its output was swept.
func Open(dir, run string, attempt int) (*os.File, error) {
	f, err := os.Open(path(dir, run, attempt))
	if err != nil {
		return nil, fmt.Errorf("open output of run %s attempt %d: %w", run, attempt, err)
	}
	return f, nil
}

// followInterval is the interval at which Follow polls the file.
const followInterval = 200 * time.Millisecond

// Follow copies the output of an attempt to w, as it grows, until ended reports that it is complete, ctx ends, or w
// fails. It waits for a file that does not exist yet.
func Follow(ctx context.Context, dir, run string, attempt int, w io.Writer, ended func() bool) error {
	poll := time.NewTicker(followInterval)
	defer poll.Stop()
	var f *os.File
	for {
		last := ended() // before the copy, so that the last bytes are copied too
		if f == nil {
			var err error
			if f, err = Open(dir, run, attempt); err == nil {
				defer f.Close()
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if f != nil {
			if _, err := io.Copy(w, f); err != nil {
				return fmt.Errorf("follow output of run %s: %w", run, err)
			}
		}
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}
