package httpx_test

import (
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAWorkerWithoutDescriptorsHasNotBegun is not parallel, because other tests open connections.
func TestAWorkerWithoutDescriptorsHasNotBegun(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	o := e.Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST"}, io.Discard))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if !o.NotBegun || o.State != job.Lost || len(got()) != 0 {
		t.Errorf("got %+v and %d requests, want an attempt that has not begun", o, len(got()))
	}
}
