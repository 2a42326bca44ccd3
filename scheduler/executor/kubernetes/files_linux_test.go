package kubernetes_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/heldfile"
)

// TestAFileServerThatIsGone has a reference to a file that cannot be opened.
func TestAFileServerThatIsGone(t *testing.T) {
	_, e := newServer(t, exited(0))
	o := heldfile.Interrupt(t, executor.ErrTimeout, func(ctx context.Context, path string) job.Outcome {
		req := request(new(bytes.Buffer))
		req.Spec.Env = map[string]string{"SECRET": "${file:" + path + "}"}
		return e.Execute(ctx, req)
	})
	if o.State != job.TimedOut || !strings.HasSuffix(o.Reason, executor.FilesHang) {
		t.Errorf("got %+v, want a timeout before the Job", o)
	}
}
