package jobfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// TestAReloadThatMeetsAChangeHasTheNewFiles changes a file whenever the read for a reload opens the one before it. The signal is
// answered when poll returns, so poll must not return with the old set.
func TestAReloadThatMeetsAChangeHasTheNewFiles(t *testing.T) {
	dir := t.TempDir()
	long := make([]string, 600) // so that the change comes before the end of the read
	for i := range long {
		long[i] = fmt.Sprintf("f%d", i)
	}
	files.Replace(t, filepath.Join(dir, "a.yaml"), files.Jobs("x", long...))
	var version atomic.Int64
	change := func() {
		files.Replace(t, filepath.Join(dir, "z.yaml"), files.Jobs(fmt.Sprint("version ", version.Load()+1), "last"))
		version.Add(1)
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
	defer opened.Close()
	for range 20 {
		last := version.Load() + readTries
		changed := make(chan struct{})
		go func() { // ends after the last change, or at the deadline; waited for below
			defer close(changed)
			for event := make([]byte, 4096); version.Load() < last; {
				if _, err := opened.Read(event); err != nil {
					return
				}
				change()
			}
		}()
		r.poll(t.Context(), true)
		met := version.Load() == last && strings.Contains(r.log.String(), "changed during the read")
		_ = opened.SetReadDeadline(time.Now())
		<-changed
		_ = opened.SetReadDeadline(time.Time{})
		if !met {
			continue // the machine was busy: a change came too late for its read
		}
		if got, want := r.set.Jobs["last"].Spec.Description, fmt.Sprint("version ", last); got != want || r.unstable {
			t.Errorf("after the reload: got %s, unstable %t, want %s", got, r.unstable, want)
		}
		return
	}
	t.Fatal("no change met each read")
}
