package jobfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAReloadThatMeetsAChangeHasTheNewFiles changes a file whenever the read for a reload opens the one before it. The signal is
// answered when poll returns, so poll must not return with the old set.
func TestAReloadThatMeetsAChangeHasTheNewFiles(t *testing.T) {
	dir := t.TempDir()
	long := make([]string, 600) // so that the change comes before the end of the read
	for i := range long {
		long[i] = fmt.Sprintf("f%d", i)
	}
	write(t, filepath.Join(dir, "a.yaml"), jobsFile("x", long...))
	version := 0
	change := func() {
		version++
		write(t, filepath.Join(dir, "z.yaml"), jobsFile(fmt.Sprint("version ", version), "last"))
	}
	change()
	r, _ := beside(t, client(t), dir, dataDir(t, "q1"))

	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	opened := os.NewFile(uintptr(fd), "inotify")
	if _, err := syscall.InotifyAddWatch(fd, filepath.Join(dir, "a.yaml"), syscall.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{})
	go func() { // ends when opened is closed; waited for below
		defer close(changed)
		for event := make([]byte, 4096); version < 1+readTries; {
			if _, err := opened.Read(event); err != nil {
				return
			}
			change()
		}
	}()
	r.poll(t.Context(), true)
	_ = opened.Close()
	<-changed
	if !strings.Contains(r.log.String(), "changed during the read") {
		t.Skip("the machine was too busy: no change met a read")
	}
	if got, want := r.set.Jobs["last"].Spec.Description, fmt.Sprint("version ", version); got != want || r.unstable {
		t.Errorf("after the reload: got %s, unstable %t, want %s", got, r.unstable, want)
	}
}
