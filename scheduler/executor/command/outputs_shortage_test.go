package command

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOutputsOfACrowdedWorker reads outputs while the process cannot open files for a moment. It is not parallel, because other tests
// open files.
func TestOutputsOfACrowdedWorker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1")
	if err := os.WriteFile(path, []byte("rows=12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(path); err == nil {
		f.Close()
		t.Error("files can be opened, so nothing is tested")
	}
	restored := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { restored <- syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
	list, err := (&outputs{}).read(path)
	if err := <-restored; err != nil {
		t.Fatal(err)
	}
	if err != nil || list["rows"] != "12" {
		t.Errorf("got %v, %v", list, err)
	}
}
