package heldfile

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

const patience = 10 * time.Second

// Interrupt executes an attempt that needs the file at path, and cancels it with cause once it opens the file. It returns the
// outcome, and fails the test if the attempt does not open the file or does not end. The file is under a lease until then: the kernel
// sends SIGIO when somebody opens it, and lets nobody have it.
func Interrupt(t *testing.T, cause error, execute func(ctx context.Context, path string) job.Outcome) job.Outcome {
	t.Helper()
	opened := make(chan os.Signal, 1)
	signal.Notify(opened, syscall.SIGIO)
	defer signal.Stop(opened)
	path := filepath.Join(t.TempDir(), "secret")
	held, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close() // ends the lease
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, held.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		t.Fatalf("lease: %v", errno)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan job.Outcome, 1)
	go func() { done <- execute(ctx, path) }() // ends during the test, unless the test fails
	select {
	case <-opened:
		cancel(cause)
	case <-time.After(patience):
		t.Fatal("the file is not read")
	}
	select {
	case o := <-done:
		return o
	case <-time.After(patience):
		t.Fatalf("%v does not end an attempt whose file cannot be read", cause)
	}
	return job.Outcome{}
}
