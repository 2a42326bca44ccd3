package worker

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestOutputIsBounded lets attempts print more than the bounds allow, within the ten minutes between two sweeps.
func TestOutputIsBounded(t *testing.T) {
	kept := func(r *rig) (total int64) {
		files, err := filepath.Glob(filepath.Join(r.cfg.DataDir, "output", "*", "*.out"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		return total
	}
	place := func(r *rig, n int, text string) { // the same files as attempts that have ended
		dir := filepath.Join(r.cfg.DataDir, "output", "other")
		for i := range n {
			files.Write(r.t, filepath.Join(dir, fmt.Sprintf("x.%d.out", i)), text)
		}
	}
	printing := func(_ context.Context, req executor.Request) job.Outcome {
		req.Output.Write(make([]byte, 300))
		return job.Outcome{State: job.Succeeded, At: time.Now()}
	}

	begun := func(t *testing.T, blocks int64, files int) *rig {
		t.Helper()
		r := newRig(t, printing)
		r.cfg.outputBytes = blocks * output.Block
		place(r, files, "ten bytes\n")
		r.start()
		return r
	}

	bubble(t, "while it grows", func(t *testing.T) {
		r := newRig(t, printing)
		r.cfg.outputBytes = 3*output.Block + 1000
		r.start()
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			r.give(r.store.pending("backup", id, time.Now()))
			after(time.Second)
		}
		if n := kept(r); n != 900 {
			t.Errorf("%d bytes of output are kept, want 900 of 1800: no more than three files", n)
		}
	})
	bubble(t, "by the disk space of short files", func(t *testing.T) {
		r := begun(t, 500, 2000)
		if n := kept(r); n != 5000 {
			t.Errorf("%d bytes of output are kept, want 500 files of 10 bytes of 2000", n)
		}
	})
	bubble(t, "by half on a disk that cannot be written to", func(t *testing.T) {
		r := begun(t, 8, 8)
		if n := kept(r); n != 80 {
			t.Errorf("%d bytes of output are kept, want all 80 that the bounds allow", n)
		}
		breakProbe(r)
		after(probeEvery + time.Second)
		if n := kept(r); n != 40 {
			t.Errorf("%d bytes of output are kept, want 40, half of the bounds", n)
		}
	})
	bubble(t, "when the disk cannot be written to", func(t *testing.T) {
		r := newRig(t, printing)
		r.cfg.outputBytes = 1000
		r.start()
		breakProbe(r)
		files.Write(t, filepath.Join(r.cfg.DataDir, "output", "other", "x.1.out"), make([]byte, 2000))
		after(probeEvery + time.Second)
		if n := kept(r); n != 0 {
			t.Errorf("%d bytes of output are kept, want none of 2000: no more than 1000", n)
		}
	})
	t.Run("by a tenth of the disk", func(t *testing.T) {
		r := newRig(t, printing)
		r.cfg.outputBytes = math.MaxInt64
		w := New(r.cfg, r.store, r.sessions, r.exec, nil, hclog.NewNullLogger())
		size, files := diskSize(r.cfg.DataDir)
		if size == 0 {
			t.Skip("the size of the disk is not known here")
		}
		if got := w.cfg.outputBounds(); got.Bytes != size/10 || got.Files != files/10 {
			t.Errorf("%+v may be kept on a disk of %d bytes and %d files", got, size, files)
		}
		// A tenth of the bound of files starts a sweep, like a tenth of the bound of bytes.
		w.bounds.Store(&output.Bounds{Bytes: 1 << 40, Files: 100})
		for range 10 {
			w.countOutput(1)
		}
		if len(w.sweepSoon) != 0 {
			t.Error("ten of 100 files start a sweep")
		}
		if w.countOutput(1); len(w.sweepSoon) != 1 {
			t.Error("eleven of 100 files start no sweep")
		}
	})
	t.Run("by a tenth of its own disk", func(t *testing.T) {
		r := newRig(t, printing)
		r.cfg.outputBytes = math.MaxInt64
		const memory = "/dev/shm" // a link leads there as a mount would
		size, files := diskSize(memory)
		if own, _ := diskSize(r.cfg.DataDir); size == 0 || size == own {
			t.Skip("there is no second disk here")
		}
		if err := os.Symlink(memory, r.cfg.outputs()); err != nil {
			t.Fatal(err)
		}
		if got := r.cfg.outputBounds(); got.Bytes != size/10 || got.Files != files/10 {
			t.Errorf("%+v may be kept on a disk of %d bytes and %d files", got, size, files)
		}
	})
	t.Run("before etcd starts on a disk that cannot be written to", func(t *testing.T) {
		r := newRig(t, printing)
		place(r, 1, "old")
		later := time.Now().Add(outputAge + time.Hour)
		if free, known := diskFree(r.cfg.DataDir); known && free < roomForEtcd {
			t.Skip("there is little room here")
		}
		if n, err := MakeRoom(t.Context(), r.cfg.DataDir, later); n != 0 || err != nil {
			t.Errorf("with room: %d files were removed, %v, want none", n, err)
		}
		breakProbe(r)
		if n, err := MakeRoom(t.Context(), r.cfg.DataDir, later); n != 1 || err != nil || kept(r) != 0 {
			t.Errorf("without room: %d files were removed, %v, want one", n, err)
		}
	})
}

// breakProbe puts a directory in the place of the probe, so that the probe fails. It returns the directory.
func breakProbe(r *rig) (dir string) {
	return filepath.Dir(files.Write(r.t, filepath.Join(r.cfg.DataDir, "probe", "a"), ""))
}

func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.start()
		busy := r.store.pending("backup", "busy", time.Now())
		r.give(busy)
		after(time.Second)
		inTheWay := breakProbe(r)
		after(probeEvery)
		if r.w.Refuses() == nil || !r.sessions.shown().Draining {
			t.Fatalf("with a full disk: got %v, shown %+v, want an error and draining", r.w.Refuses(), r.sessions.shown())
		}
		if shown := r.sessions.shown(); !strings.Contains(shown.Broken, "cannot be written to") {
			t.Errorf("with a full disk: the presence says %q", shown.Broken)
		}
		refused := r.store.pending("backup", "refused", time.Now())
		r.give(refused) // assigned before the leader read the new presence
		after(time.Second)
		if got := r.wantState(refused, job.Pending); got.Reason != string(errNoDisk) || got.Attempt != 0 {
			t.Errorf("run was handed back with %q as attempt %d", got.Reason, got.Attempt)
		}
		r.wantState(busy, job.Running)
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		r.sessions.refuseUpdates(job.ErrFull) // etcd is full as well
		after(2 * probeEvery)
		if r.w.Refuses() != nil || !r.sessions.shown().Draining {
			t.Errorf("with a presence that cannot be changed: got %v, shown %+v", r.w.Refuses(), r.sessions.shown())
		}
		r.sessions.refuseUpdates(nil)
		after(2 * unhealthyProbeEvery)
		if shown := r.sessions.shown(); r.w.Refuses() != nil || shown.Draining || shown.Broken != "" {
			t.Errorf("with room on the disk: got %v, shown %+v, want neither", r.w.Refuses(), r.sessions.shown())
		}
		taken := r.store.pending("backup", "taken", time.Now())
		r.give(taken)
		after(2 * time.Minute)
		r.wantState(taken, job.Succeeded)
		r.wantState(busy, job.Succeeded)
	})
}
