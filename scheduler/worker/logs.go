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
	f, err := output.Open(w.outputs(), run, attempt)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Follow copies what an attempt prints on this worker to out, what is there and what comes, until the attempt has ended
// or ctx is done.
func (w *Worker) Follow(ctx context.Context, run string, attempt int, out io.Writer) error {
	return output.Follow(ctx, w.outputs(), run, attempt, out, func() bool { return !w.executes(run, attempt) })
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
func (w *Worker) outputs() string { return filepath.Join(w.cfg.DataDir, "output") }

// capture returns the writer of an attempt's output.
func (w *Worker) capture(run *job.Run) *output.Writer {
	return output.New(w.outputs(), run.Name(), run.Attempt, job.OutputTail, w.cfg.OutputCap)
}

// outputBytes is how much output is kept.
func (w *Worker) outputBytes() int64 {
	if size := diskSize(w.cfg.DataDir); size > 0 {
		return min(w.cfg.OutputBytes, size/10)
	}
	return w.cfg.OutputBytes
}

// printed counts output that has come, and has it swept if that is much.
func (w *Worker) printed(bytes int64) {
	if bytes > 0 && w.unswept.Add(bytes) > w.outputBytes()/sweepShare {
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

// sweepOutputs removes output that is too old or too much, until ctx ends.
func (w *Worker) sweepOutputs(ctx context.Context) {
	for {
		w.unswept.Store(0)
		removed, err := output.Sweep(w.outputs(), w.cfg.OutputAge, w.outputBytes(), w.now())
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
