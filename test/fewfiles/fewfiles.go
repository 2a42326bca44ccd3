package fewfiles

import (
	"syscall"
	"testing"
)

// Begin keeps this process from opening files and connections until restore is called. No other test may run at the same time.
func Begin(t testing.TB) (restore func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(limit syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Errorf("set the limit of open files: %v", err)
		}
	}
	set(syscall.Rlimit{Max: before.Max})
	return func() { set(before) }
}
