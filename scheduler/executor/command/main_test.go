package command_test

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/poll"
)

// TestMain lets the test binary act as a worker that is killed.
func TestMain(m *testing.M) {
	if mark := os.Getenv("ROTA_TEST_WORKER"); mark != "" {
		req := executor.Request{Spec: job.Spec{Shell: "echo began; exec sleep 1000"}, Output: os.Stdout, Mark: mark}
		newExecutor().Execute(context.Background(), req)
		return
	}
	if mark := os.Getenv("ROTA_TEST_PAUSED"); mark != "" {
		executeUntilHungUp(mark, os.Getenv("ROTA_TEST_TEXT"))
		return
	}
	if os.Getenv("ROTA_TEST_LACKING") != "" {
		executeWithoutDescriptors()
		return
	}
	if os.Getenv("ROTA_TEST_LEAVING") != "" {
		leaveGroup()
		return
	}
	if message := os.Getenv("ROTA_TEST_NOTIFY"); message != "" {
		notify(message)
		return
	}
	goleak.VerifyTestMain(m)
}

func newMark(t testing.TB) string {
	mark := procs.Mark("test-"+strings.ToLower(rand.Text()), 1)
	t.Cleanup(func() {
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
			procs.KillMarked(mark)
		}
	})
	return mark
}

// marked returns the living processes with this mark.
func marked(t testing.TB, mark string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, _ := os.ReadFile(f); strings.Contains("\x00"+string(b), "\x00"+procs.Env+"="+mark+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns this process's children, including zombies.
func children(t *testing.T) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(files) == 0 {
		t.Skip("NOT TESTED: the kernel does not list children")
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		pids = append(pids, strings.Fields(string(b))...)
	}
	return pids
}

// memory returns the bytes of heap and stacks.
func memory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// every returns a writer that sends every nth write to a, and all others to b.
func every(a, b io.Writer, n int) io.Writer {
	i := 0
	return writerFunc(func(p []byte) (int, error) {
		if i++; i%n == 0 {
			return a.Write(p)
		}
		return b.Write(p)
	})
}

var eventually = poll.Until

// endAfter executes spec. When the program has printed "began" and has n processes, endAfter ends it with cause. It returns the
// outcome and the output.
func endAfter(t *testing.T, spec job.Spec, n int, cause error) (job.Outcome, string) {
	t.Helper()
	var out buffer.Buffer
	return endWith(t, newExecutor(), request(t, spec, &out), &out, n, cause), out.String()
}

// endWith does the same with an executor and a request. out is the output of the request.
func endWith(t *testing.T, e *command.Executor, req executor.Request, out *buffer.Buffer, n int, cause error) job.Outcome {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan job.Outcome, 1)
	go func() { done <- e.Execute(ctx, req) }()
	began := func() bool { return strings.Contains(out.String(), "began\n") && len(marked(t, req.Mark)) == n }
	eventually(t, "all began", func() bool { return len(done) > 0 || began() })
	cancel(cause)
	o := <-done
	if left := marked(t, req.Mark); len(left) > 0 {
		t.Errorf("Execute has returned, and processes are left: %v", left)
	}
	return o
}
