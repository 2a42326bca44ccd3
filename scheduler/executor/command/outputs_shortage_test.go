package command

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/fewfiles"
	"github.com/rota-scheduler/rota/test/files"
)

// TestOutputsOfACrowdedWorker reads outputs while the process cannot open files for a moment.
func TestOutputsOfACrowdedWorker(t *testing.T) {
	path := files.Write(t, filepath.Join(t.TempDir(), "1"), "rows=12\n")
	restore := fewfiles.Begin(t)
	if f, err := os.Open(path); err == nil {
		f.Close()
		t.Error("files can be opened, so nothing is tested")
	}
	restored := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() { restore(); close(restored) })
	list, err := (&outputs{}).read(path)
	<-restored
	if err != nil || list["rows"] != "12" {
		t.Errorf("got %v, %v", list, err)
	}
}

// TestMissingOutputsOfAShortMachine covers a machine that lacked memory when it was first asked whether the file exists.
func TestMissingOutputsOfAShortMachine(t *testing.T) {
	if list, err := (&outputs{}).readThere(filepath.Join(t.TempDir(), "1")); err != nil || list != nil {
		t.Errorf("got %v, %v, want neither", list, err)
	}
}

// TestAWorkerThatCannotMakeTheDirectoryOfOutputs is broken, not the job.
func TestAWorkerThatCannotMakeTheDirectoryOfOutputs(t *testing.T) {
	place := files.Write(t, filepath.Join(t.TempDir(), "file"), "")
	e := New(Config{Outputs: filepath.Join(place, "outputs")}, time.Now)
	req := executor.Request{Spec: job.Spec{Shell: "true"}, Output: os.Stderr}
	if o := e.Execute(t.Context(), req); !o.NotBegun || !o.KindAway || e.Check(t.Context()) == nil {
		t.Errorf("got %+v, want an attempt that has not begun", o)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	if err := e.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
		t.Errorf("after the repair: %+v", o)
	}
}

// TestOutputsOfAFullDisk begins attempts on a disk without room for the directory of outputs, and after it has room.
func TestOutputsOfAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes=1"); err != nil {
		t.Skipf("NOT TESTED: needs to mount a small disk (%v)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	e := New(Config{Outputs: filepath.Join(dir, "outputs")}, time.Now)
	attempt := func() job.Outcome {
		return e.Execute(t.Context(), executor.Request{Spec: job.Spec{Shell: "echo n=1 >$ROTA_OUTPUT"}, Output: os.Stderr})
	}
	if o := attempt(); o.State != job.Lost || !o.NotBegun {
		t.Errorf("on a full disk: %+v, want that the attempt has not begun", o)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "nr_inodes=100"); err != nil {
		t.Fatal(err)
	}
	if o := attempt(); o.State != job.Succeeded || o.Outputs["n"] != "1" {
		t.Errorf("after the disk has got room: %+v", o)
	}
}

// TestOutputsAreMadeAgain lets the directory of outputs fail once.
func TestOutputsAreMadeAgain(t *testing.T) {
	parent := files.Write(t, filepath.Join(t.TempDir(), "data"), "")
	o := outputs{dir: filepath.Join(parent, "outputs")}
	if path, err := o.path(); err == nil {
		t.Fatalf("got %s, want an error", path)
	}
	if err := os.Remove(parent); err != nil {
		t.Fatal(err)
	}
	if _, err := o.path(); err != nil {
		t.Error(err)
	}
}

// TestAStartWithoutDescriptorsHasNotBegun covers a worker whose other attempts give back descriptors before the check of a start.
func TestAStartWithoutDescriptorsHasNotBegun(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE} {
		if o := failure(nil, fmt.Errorf("make pipe for output: %w", err)); !o.NotBegun || o.State != job.Lost {
			t.Errorf("%v: got %+v, want an attempt that has not begun", err, o)
		}
	}
}
