package node

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// A read of the job files hangs, as on a file server that does not answer. The replica must start and stop anyway.
// Otherwise systemd kills it before it has resigned and left etcd.
func TestANodeWhoseJobFilesHang(t *testing.T) {
	t.Parallel()
	t.Run("stops", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Replace(t, path, files.Jobs("first", "x"))
		r := withFiles(t, "q1", etcd(t), path)
		r.wantJobs(t, "x=first")
		hangs := hang(t, path)
		r.reload <- syscall.SIGHUP
		eventually(t, "a read hangs", hangs)
		r.wantStop(t)
	})
	t.Run("starts and stops", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Replace(t, path, files.Jobs("first", "x"))
		hangs := hang(t, path)
		r := withFiles(t, "q1", etcd(t), path)
		r.lead(t)
		if !hangs() {
			t.Fatal("the replica does not read its job files")
		}
		r.wantStop(t)
		if !strings.Contains(r.log.String(), "the start goes on without the job files") {
			t.Error("the log of the start does not mention the job files")
		}
	})
}

// hang makes each read of the file wait: a file under a write lease cannot be opened until the kernel ends the lease after 45 s.
// hangs reports whether a reader waits.
func hang(t *testing.T, path string) (hangs func() bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) // ends the lease, and with it the read
	eventually(t, "nobody else has the file open", func() bool {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK)
		return errno == 0
	})
	return func() bool {
		kind, _, _ := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETLEASE, 0)
		return kind != syscall.F_WRLCK
	}
}

// wantStop stops a node whose read of the job files hangs.
func (r *running) wantStop(t *testing.T) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.ended:
		if r.ended <- err; err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the node does not stop")
	}
	if !strings.Contains(r.log.String(), "a read of the job files hangs") {
		t.Error("the log does not say why")
	}
}
