package httpx_test

import (
	"context"
	"io"
	"net/http"
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
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	path := filepath.Join(t.TempDir(), "token")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // ends the lease
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		t.Fatalf("lease: %v", errno)
	}
	opened := make(chan os.Signal, 1)
	signal.Notify(opened, syscall.SIGIO) // the kernel sends it when the file is to be opened
	defer signal.Stop(opened)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	e, done := newExecutor(t), make(chan job.Outcome, 1)
	header := map[string]string{"Authorization": "Bearer ${file:" + path + "}"}
	req := request(job.HTTP{URL: url, Headers: header}, io.Discard)
	go func() { done <- e.Execute(ctx, req) }() // ends during the test, unless the test fails
	select {
	case <-opened:
		cancel(executor.ErrTimeout)
	case <-time.After(10 * time.Second):
		t.Fatal("the file is not read")
	}
	select {
	case o := <-done:
		if o.State != job.TimedOut || !strings.HasSuffix(o.Reason, executor.FilesHang) || len(got()) > 0 {
			t.Errorf("got %+v and %d requests, want a timeout before the request", o, len(got()))
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the timeout does not end an attempt whose file cannot be read")
	}
}
