package fewfiles

import (
	"sync"
	"syscall"
	"testing"
)

// Begin keeps this process from opening files and connections until restore is called, or the test ends. No other test may run at the same time.
func Begin(t testing.TB) (restore func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	restore = sync.OnceFunc(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Errorf("restore the limit of open files: %v", err)
		}
	})
	t.Cleanup(restore)
	return restore
}
