package httpx_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/heldfile"
)

// TestAFileServerThatIsGone has a reference to a file that cannot be opened.
func TestAFileServerThatIsGone(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	o := heldfile.Interrupt(t, executor.ErrTimeout, func(ctx context.Context, path string) job.Outcome {
		header := map[string]string{"Authorization": "Bearer ${file:" + path + "}"}
		return e.Execute(ctx, request(job.HTTP{URL: url, Headers: header}, io.Discard))
	})
	if o.State != job.TimedOut || !strings.HasSuffix(o.Reason, executor.FilesHang) || len(got()) > 0 {
		t.Errorf("got %+v and %d requests, want a timeout before the request", o, len(got()))
	}
}
