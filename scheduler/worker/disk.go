package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

const (
	probeEvery          = 10 * time.Second // the interval between probes of the disk while the worker accepts runs
	unhealthyProbeEvery = time.Second      // the interval while it accepts none
	probeTimeout        = 5 * time.Second
	// probeSize is the number of bytes that a probe writes. It is enough for the outcomes of a worker that is cut off from the
	// store.
	probeSize = 1 << 20
)

// checkDisk probes the disk. It returns at the latest when ctx ends or probeTimeout has passed. If the probe has not ended by
// then, the next call waits for the same probe, so only one is under way. A probe that is stuck in the kernel cannot be ended;
// Run waits for it for a bounded time.
func (w *Worker) checkDisk(ctx context.Context) {
	if w.probing == nil {
		probing := make(chan error, 1)
		w.wg.Go(func() { probing <- w.probeDisk() })
		w.probing = probing
	}
	var err error
	select {
	case err = <-w.probing:
		w.probing = nil
	case <-time.After(probeTimeout):
		err = fmt.Errorf("%w: %s", output.ErrNoAnswer, w.cfg.DataDir)
	case <-ctx.Done():
		return
	}
	w.mu.Lock()
	before := w.diskErr
	w.diskErr = err
	w.mu.Unlock()
	switch {
	case errors.Is(err, ErrDamaged):
		if !errors.Is(before, ErrDamaged) {
			w.log.Error("worker accepts no runs, since its journal is damaged: stop this process, move journal.db away and start it again",
				"dir", w.cfg.DataDir, "err", err)
		}
	case needsRoom(err) && !needsRoom(before):
		wake(w.sweepSoon)
		w.log.Error("worker accepts no runs, since its disk cannot be written to: make room, or repair it",
			"dir", w.cfg.DataDir, "err", err)
	case unwritable(err) && !unwritable(before):
		w.log.Error("worker accepts no runs, since it cannot open files", "dir", w.cfg.DataDir, "err", err)
	case err != nil && before == nil:
		w.log.Error("worker accepts no runs, since its disk does not answer", "dir", w.cfg.DataDir)
	case err == nil && before != nil:
		w.log.Info("the disk can be written to again, and the worker accepts runs", "dir", w.cfg.DataDir)
	}
}

// unwritable reports whether err, the result of a probe, says that the disk answers but cannot be written to.
func unwritable(err error) bool { return err != nil && !errors.Is(err, output.ErrNoAnswer) }

// needsRoom reports whether err, the result of a probe, says that the disk cannot be written to, so that less output may help. A
// process without descriptors has room, and no room repairs a damaged journal.
func needsRoom(err error) bool {
	return unwritable(err) && !executor.NoDescriptor(err) && !errors.Is(err, ErrDamaged)
}

// diskFull reports whether the disk answers but cannot be written to.
func (w *Worker) diskFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return needsRoom(w.diskErr)
}

// probeDisk checks whether the disk can be written to, and returns when it answers. It waits for the journal too: the
// kernel may accept unsynced data for a while from a disk that does not answer.
func (w *Worker) probeDisk() error {
	if err := probe(filepath.Join(w.cfg.DataDir, "probe")); err != nil {
		return err
	}
	if err := w.recordLife(); err != nil || w.journal == nil {
		return err
	}
	return w.journal.awaitDisk()
}

// probe writes a file and removes it.
func probe(path string) error {
	err := os.WriteFile(path, make([]byte, probeSize), 0o600)
	if removed := os.Remove(path); err == nil {
		err = removed
	}
	if err == nil {
		return nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("the disk of %s cannot be written to: %w", filepath.Dir(path), err)
}

// suspectDisk makes watchHealth probe the disk soon: the journal could not be written, or an attempt could not start.
func (w *Worker) suspectDisk() { wake(w.probeSoon) }

// roomForEtcd is the free space, in bytes, that a replica needs when its etcd starts, which allocates two files of 64 MiB.
const roomForEtcd = 128 << 20

// MakeRoom removes old output from the data directory dir if its disk has little free space. Call it before the worker runs. It
// returns how many files it removed.
func MakeRoom(ctx context.Context, dir string, now time.Time) (removed int, err error) {
	if free, known := diskFree(dir); (!known || free >= roomForEtcd) && probe(filepath.Join(dir, "probe")) == nil {
		return 0, nil
	}
	cfg := Config{DataDir: dir}.Defaults()
	return output.Sweep(ctx, cfg.outputs(), cfg.outputBounds().Half(), now)
}
