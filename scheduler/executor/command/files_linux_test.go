package command_test

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAFileServerThatIsGone holds a lease on the file of a reference. A file under a lease cannot be opened, like a file on a file
// server that does not answer.
func TestAFileServerThatIsGone(t *testing.T) {
	opened := make(chan os.Signal, 1)
	signal.Notify(opened, syscall.SIGIO) // the kernel sends it when the file is to be opened
	defer signal.Stop(opened)
	for cause, want := range map[error]job.State{
		executor.ErrTimeout: job.TimedOut, executor.ErrCanceled: job.Canceled, executor.ErrFenced: job.Lost,
	} {
		path := filepath.Join(t.TempDir(), "secret")
		held, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close() // ends the lease
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, held.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
			t.Fatalf("lease: %v", errno)
		}
		spec := shell("echo began")
		spec.Env = map[string]string{"SECRET": "${file:" + path + "}"}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		e, req, done := newExecutor(), request(t, spec, io.Discard), make(chan job.Outcome, 1)
		go func() { done <- e.Execute(ctx, req) }() // ends during the test, unless the test fails
		select {
		case <-opened:
			cancel(cause)
		case <-time.After(10 * time.Second):
			t.Fatal("the file is not read")
		}
		select {
		case o := <-done:
			if o.State != want || !o.At.Equal(at) || !strings.HasSuffix(o.Reason, executor.FilesHang) {
				t.Errorf("after %v: got %+v, want %s", cause, o, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v does not end an attempt whose file cannot be read", cause)
		}
	}
}
