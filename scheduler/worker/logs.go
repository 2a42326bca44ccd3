package worker

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Old output is looked for so often, and when a share of what may be kept has come, one in sweepShare, and when the disk is
// found full.
const (
	sweepEvery = 10 * time.Minute
	sweepShare = 10
)

// Log opens what an attempt of the run (<job>/<slot or id>) has printed on this worker. The error is fs.ErrNotExist if
// there is nothing: it printed nothing, ran elsewhere, or its output was swept.
func (w *Worker) Log(run string, attempt int) (io.ReadCloser, error) {
	f, err := output.Open(w.cfg.outputs(), run, attempt)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Follow copies what an attempt prints on this worker to out, what is there and what comes, until the attempt has ended
// or ctx is done. over asks the attempt's record whether it is over; its error ends the copying.
func (w *Worker) Follow(ctx context.Context, run string, attempt int, out io.Writer, over func() (bool, error)) error {
	f := &follower{executes: func() bool { return w.executes(run, attempt) }, over: over}
	if err := output.Follow(ctx, w.cfg.outputs(), run, attempt, out, f.ended); err != nil {
		return err
	}
	return f.err
}

// How a follower asks for an attempt's record.
const (
	askEvery = time.Second // at most, and sooner in the beginning
	askSoon  = 200 * time.Millisecond
	tooLong  = 5 * time.Second // an attempt that is over and goes on for so long is followed no further
)

// follower knows when an attempt has ended. Whether it executes does not say that: it may not have begun, and it may not end
// although the leader has given it up.
type follower struct {
	executes func() bool
	over     func() (bool, error)

	begun bool      // it was seen to execute
	asks  int       // for its record
	asked time.Time // the last time
	since time.Time // its record has said that it is over; zero: it has not
	err   error     // why there is nothing more to follow here
}

func (f *follower) ended() bool {
	executes := f.executes()
	if f.begun = f.begun || executes; f.begun && !executes {
		return true
	}
	if f.since.IsZero() && time.Since(f.asked) >= min(askEvery, time.Duration(f.asks)*askSoon) {
		over, err := f.over()
		if f.err = err; err != nil {
			return true
		}
		f.asks++
		if f.asked = time.Now(); over {
			f.since = f.asked
			executes = f.executes() // it may have begun and ended while we asked
		}
	}
	return !f.since.IsZero() && (!executes || time.Since(f.since) > tooLong)
}

// executes says whether an attempt of a run executes here now.
func (w *Worker) executes(run string, number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := range w.attempts {
		if a.run.Attempt == number && a.run.Name() == run {
			return true
		}
	}
	return false
}

// outputs is the directory of all attempts' output.
func (c *Config) outputs() string { return filepath.Join(c.DataDir, "output") }

// capture returns the writer of an attempt's output.
func (w *Worker) capture(run *job.Run) *output.Writer {
	return output.New(w.cfg.outputs(), run.Name(), run.Attempt, job.OutputTail, w.cfg.OutputCap)
}

// outputBounds is how much output is kept: of the disk's room, and of the files that it can have, a tenth at most.
func (c *Config) outputBounds() output.Bounds {
	b := output.Bounds{Age: c.OutputAge, Bytes: c.OutputBytes}
	bytes, files := diskSize(c.DataDir)
	if bytes > 0 {
		b.Bytes = min(b.Bytes, bytes/10)
	}
	b.Files = files / 10
	return b
}

// printed counts the output of an attempt that has come, and has old output swept if that is much. A file counts for
// the bytes that there are for each file, at least, so that one sum stands for both bounds.
func (w *Worker) printed(bytes int64) {
	b := w.bounds.Load()
	if bytes == 0 || b == nil {
		return
	}
	least := int64(output.Block)
	if b.Files > 0 {
		least = max(least, b.Bytes/b.Files)
	}
	if w.unswept.Add(max(bytes, least)) > b.Bytes/sweepShare {
		w.sweepSoon()
	}
}

// sweepSoon has old output looked for now.
func (w *Worker) sweepSoon() {
	select {
	case w.sweep <- struct{}{}:
	default: // it will be
	}
}

// sweepOutputs removes output that is too old or too much, until ctx ends. On a disk that takes nothing half as much is too much,
// so that there is room again.
func (w *Worker) sweepOutputs(ctx context.Context) {
	for {
		w.unswept.Store(0)
		bounds := w.cfg.outputBounds()
		w.bounds.Store(&bounds)
		if w.diskFull() {
			bounds = bounds.Half()
		}
		removed, err := output.Sweep(ctx, w.cfg.outputs(), bounds, w.now())
		if err != nil {
			w.log.Warn("old output could not be removed", "err", err)
		}
		if removed > 0 {
			w.log.Debug("old output removed", "files", removed)
		}
		select {
		case <-time.After(sweepEvery):
		case <-w.sweep:
		case <-ctx.Done():
			return
		}
	}
}
