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

// Open opens the output of an attempt that this worker has, or had. It returns an error that is fs.ErrNotExist when
// there is none: it printed nothing, ran elsewhere, or was swept.
func Open(dir, run string, attempt int) (*os.File, error) {
	f, err := os.Open(path(dir, run, attempt))
	if err != nil {
		return nil, fmt.Errorf("open output of run %s attempt %d: %w", run, attempt, err)
	}
	return f, nil
}

// followEvery is how often Follow looks for more.
const followEvery = 200 * time.Millisecond

// Follow copies the output of an attempt to w, what is there and what comes, until ended says that no more will come,
// or ctx is done, or w fails. A file that does not exist yet is waited for.
func Follow(ctx context.Context, dir, run string, attempt int, w io.Writer, ended func() bool) error {
	look := time.NewTicker(followEvery)
	defer look.Stop()
	var f *os.File
	for {
		last := ended() // asked before the look, so that what was written before the end is seen
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
		case <-look.C:
		}
	}
}
