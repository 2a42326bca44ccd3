package worker

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestFullDisk has a directory lie where the disk is probed, so that nothing can be written there.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.start()
		busy := r.store.pending("backup", "busy", time.Now())
		r.give(busy)
		after(time.Second)
		inTheWay := filepath.Join(r.cfg.DataDir, "probe")
		if err := os.Mkdir(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(inTheWay, "a"), nil, 0o600); err != nil { // it cannot be removed
			t.Fatal(err)
		}
		after(diskEvery)
		if r.w.Refuses() == nil || !r.sessions.shown().Draining {
			t.Fatalf("with a disk that takes nothing: got %v, shown %+v, want an error and a worker that drains", r.w.Refuses(), r.sessions.shown())
		}
		refused := r.store.pending("backup", "refused", time.Now())
		r.give(refused) // was given before the leader saw it
		after(time.Second)
		if got := r.wantState(refused, job.Pending); got.Reason != string(errNoDisk) || got.Attempt != 0 {
			t.Errorf("run was handed back with %q as attempt %d", got.Reason, got.Attempt)
		}
		r.wantState(busy, job.Running)
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		after(2 * fullEvery)
		if r.w.Refuses() != nil || r.sessions.shown().Draining {
			t.Errorf("with room on the disk: got %v, shown %+v, want neither", r.w.Refuses(), r.sessions.shown())
		}
		taken := r.store.pending("backup", "taken", time.Now())
		r.give(taken)
		after(2 * time.Minute)
		r.wantState(taken, job.Succeeded)
		r.wantState(busy, job.Succeeded)
	})
}
