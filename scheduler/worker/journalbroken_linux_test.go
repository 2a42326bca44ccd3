package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// breakFile makes each write to the open file at path fail, until repair is called.
func breakFile(t *testing.T, path string) (repair func()) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	fd := -1
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == path {
			fd, _ = strconv.Atoi(filepath.Base(link))
		}
	}
	saved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) // keeps the lock of the file
	if err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	if err := unix.Dup3(int(readOnly.Fd()), fd, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := unix.Dup3(saved, fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		if err := unix.Close(saved); err != nil {
			t.Error(err)
		}
	}
}

// TestAJournalThatCannotBeWritten breaks the journal, while the rest of the disk can be written to.
func TestAJournalThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		repair := breakFile(t, filepath.Join(r.cfg.DataDir, "journal.db"))
		name, _ := r.one()
		after(5 * time.Second)
		r.wantState(name, job.Succeeded) // from memory
		if err := r.w.Refuses(); err == nil || !strings.Contains(err.Error(), "write journal") || !r.sessions.shown().Draining {
			t.Errorf("got %v, shown %+v, want an error and draining", err, r.sessions.shown())
		}
		repair()
		after(2 * unhealthyProbeEvery)
		if err := r.w.Refuses(); err != nil || r.sessions.shown().Draining {
			t.Errorf("after the repair: got %v, shown %+v, want neither", err, r.sessions.shown())
		}
	})
}

// TestADamagedJournalDoesNotEndTheProcess overwrites the journal under the worker. bbolt panics at its next change.
func TestADamagedJournalDoesNotEndTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		f, err := os.OpenFile(filepath.Join(r.cfg.DataDir, "journal.db"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, info.Size()-2*journalPage), 2*journalPage); err != nil {
			t.Fatal(err)
		}
		name, _ := r.one()
		after(5 * time.Second)
		r.wantState(name, job.Succeeded) // from memory
		if err := r.w.Refuses(); !errors.Is(err, ErrDamaged) || !r.sessions.shown().Draining {
			t.Errorf("got %v, shown %+v, want a damaged journal and draining", err, r.sessions.shown())
		}
		if r.w.diskFull() {
			t.Error("output is removed to make room, which does not repair the journal")
		}
	})
}

// TestAWorkerWithoutDescriptorsKeepsOutput has a probe that found no descriptor.
func TestAWorkerWithoutDescriptorsKeepsOutput(t *testing.T) {
	for err, want := range map[unix.Errno]bool{unix.EMFILE: false, unix.ENFILE: false, unix.ENOSPC: true, unix.EDQUOT: true} {
		w := &Worker{diskErr: fmt.Errorf("the disk cannot be written to: %w", err)}
		if w.diskFull() != want {
			t.Errorf("%v: output is removed to make room: %v, want %v", err, !want, want)
		}
	}
}
