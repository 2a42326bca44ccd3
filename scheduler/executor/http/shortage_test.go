package httpx_test

import (
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/fewfiles"
	"github.com/rota-scheduler/rota/test/files"
)

func TestAWorkerWithoutDescriptorsHasNotBegun(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	secret := files.Write(t, filepath.Join(t.TempDir(), "token"), "t")
	restore := fewfiles.Begin(t)
	connection := e.Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST"}, io.Discard))
	header := map[string]string{"Authorization": "${file:" + secret + "}"}
	reference := e.Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST", Headers: header}, io.Discard))
	restore()
	for what, o := range map[string]job.Outcome{"the connection": connection, "a reference": reference} {
		if !o.NotBegun || o.State != job.Lost || len(got()) != 0 {
			t.Errorf("%s: got %+v and %d requests, want an attempt that has not begun", what, o, len(got()))
		}
	}
}
