package container

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/heldfile"
)

// TestAFileServerThatIsGone has a reference to a file that cannot be opened.
func TestAFileServerThatIsGone(t *testing.T) {
	f, e := newFaulty(t, nil)
	o := heldfile.Interrupt(t, executor.ErrTimeout, func(ctx context.Context, path string) job.Outcome {
		req := faultyRequest(io.Discard)
		req.Spec.Env = map[string]string{"SECRET": "${file:" + path + "}"}
		return e.Execute(ctx, req)
	})
	if o.State != job.TimedOut || !strings.HasSuffix(o.Reason, executor.FilesHang) || f.count("create") > 0 {
		t.Errorf("got %+v and %d containers, want a timeout before the container", o, f.count("create"))
	}
}
