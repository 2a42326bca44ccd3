package command_test

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
	for cause, want := range map[error]job.State{
		executor.ErrTimeout: job.TimedOut, executor.ErrCanceled: job.Canceled, executor.ErrFenced: job.Lost,
	} {
		o := heldfile.Interrupt(t, cause, func(ctx context.Context, path string) job.Outcome {
			spec := shell("echo began")
			spec.Env = map[string]string{"SECRET": "${file:" + path + "}"}
			return newExecutor().Execute(ctx, request(t, spec, io.Discard))
		})
		if o.State != want || !o.At.Equal(at) || !strings.HasSuffix(o.Reason, executor.FilesHang) {
			t.Errorf("after %v: got %+v, want %s", cause, o, want)
		}
	}
}
