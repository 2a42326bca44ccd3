package httpx_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAWorkerWithoutDescriptorsHasNotBegun is not parallel, because other tests open connections.
func TestAWorkerWithoutDescriptorsHasNotBegun(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	connection := e.Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST"}, io.Discard))
	header := map[string]string{"Authorization": "${file:" + secret + "}"}
	reference := e.Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST", Headers: header}, io.Discard))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]job.Outcome{"the connection": connection, "a reference": reference} {
		if !o.NotBegun || o.State != job.Lost || len(got()) != 0 {
			t.Errorf("%s: got %+v and %d requests, want an attempt that has not begun", what, o, len(got()))
		}
	}
}
