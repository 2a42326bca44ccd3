package worker

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

// Old output is swept every sweepEvery, after new output of 1/sweepShare of the bound, and when the disk is full.
const (
	sweepEvery = 10 * time.Minute
	sweepShare = 10
)

// Log opens the output of an attempt of the run (<job>/<slot or id>) on this worker. The error is fs.ErrNotExist if there
// is none: the attempt printed nothing, ran on another worker, or its output was swept.
func (w *Worker) Log(run string, attempt int) (io.ReadCloser, error) {
	f, err := output.Open(w.cfg.outputs(), run, attempt)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Follow copies the output of an attempt on this worker to out, until the attempt has ended or ctx ends. over reads the
// attempt's record and reports whether the attempt is over; an error of over ends the copying.
func (w *Worker) Follow(ctx context.Context, run string, attempt int, out io.Writer, over func() (bool, error)) error {
	f := &logFollower{executes: func() bool { return w.executes(run, attempt) }, over: over}
	if err := output.Follow(ctx, w.cfg.outputs(), run, attempt, out, f.ended); err != nil {
		return err
	}
	return f.err
}

const (
	recordPoll     = time.Second            // the longest interval between two reads of an attempt's record
	recordPollStep = 200 * time.Millisecond // the growth of the interval after each read
	// maxOvertime is how long the log of an attempt is followed after its record says that the attempt is over.
	maxOvertime = 5 * time.Second
)

// logFollower finds out when an attempt has ended. It needs both sources. An attempt that does not execute may not have begun
// yet. An attempt whose record says that it is over may still execute, because the leader gave it up.
type logFollower struct {
	executes func() bool
	over     func() (bool, error)

	begun  bool      // the attempt has been seen executing
	reads  int       // the number of reads of the record
	readAt time.Time // the last read
	since  time.Time // the time of the first read that said that the attempt is over; zero: none
	err    error     // the error of over
}

// ended reports whether the attempt has ended.
func (f *logFollower) ended() bool {
	executes := f.executes()
	if f.begun = f.begun || executes; f.begun && !executes {
		return true
	}
	if f.since.IsZero() && time.Since(f.readAt) >= min(recordPoll, time.Duration(f.reads)*recordPollStep) {
		over, err := f.over()
		if f.err = err; err != nil {
			return true
		}
		f.reads++
		if f.readAt = time.Now(); over {
			f.since = f.readAt
			executes = f.executes() // the attempt may have begun and ended during the read
		}
	}
	return !f.since.IsZero() && (!executes || time.Since(f.since) > maxOvertime)
}

// executes reports whether an attempt of a run executes on this worker now.
func (w *Worker) executes(run string, number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := range w.attempts {
		if a.run.Attempt == number && a.name == run {
			return true
		}
	}
	return false
}

// Outputs returns the directory of all attempts' output. dataDir is that of the worker.
func Outputs(dataDir string) string { return filepath.Join(dataDir, "output") }

func (c *Config) outputs() string { return Outputs(c.DataDir) }

// outputBounds returns how much output is kept: at most a tenth of the disk's bytes and a tenth of its files. The output may have a
// disk of its own.
func (c *Config) outputBounds() output.Bounds {
	b := output.Bounds{Age: outputAge, Bytes: c.outputBytes}
	bytes, files := diskSize(c.outputs())
	if bytes == 0 { // there is no output yet
		bytes, files = diskSize(c.DataDir)
	}
	if bytes > 0 {
		b.Bytes = min(b.Bytes, bytes/10)
	}
	b.Files = files / 10
	return b
}

// countOutput counts the output of an attempt, and starts a sweep after much new output. A file counts for at least the average
// number of bytes that the bounds allow for a file. So one sum covers both the bound of bytes and the bound of files.
func (w *Worker) countOutput(bytes int64) {
	b := w.bounds.Load()
	if bytes == 0 || b == nil {
		return
	}
	least := int64(output.Block)
	if b.Files > 0 {
		least = max(least, b.Bytes/b.Files)
	}
	if w.unswept.Add(max(bytes, least)) > b.Bytes/sweepShare {
		wake(w.sweepSoon)
	}
}

// sweepOutputs removes output that exceeds its age or bounds, until ctx ends. On a full disk the bounds are halved, so that
// it has room again.
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
		case <-w.sweepSoon:
		case <-ctx.Done():
			return
		}
	}
}
