package command_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// executeUntilHungUp acts as a worker that loses its lease when its stdin ends. It prints the outcome of its command.
func executeUntilHungUp(mark, text string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel(executor.ErrFenced)
	}()
	o := newExecutor().Execute(ctx, executor.Request{Spec: job.Spec{Shell: text}, Output: os.Stdout, Mark: mark})
	fmt.Println(o.State, o.Reason)
}

// TestACommandThatExitedWhileItsWorkerWasSuspendedHasItsOwnOutcome suspends a worker while its command exits and its lease is
// lost. The worker may notice the exit or the lost lease first.
func TestACommandThatExitedWhileItsWorkerWasSuspendedHasItsOwnOutcome(t *testing.T) {
	for range 12 {
		mark, gate := newMark(t), filepath.Join(t.TempDir(), "go")
		worker := exec.Command(os.Args[0])
		worker.Env = append(os.Environ(), "ROTA_TEST_PAUSED="+mark, "ROTA_TEST_TEXT=echo began; while [ ! -e "+gate+" ]; do sleep 0.01; done; exit 3")
		lease, err := worker.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := worker.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(stdout)
		if line, err := out.ReadString('\n'); line != "began\n" {
			t.Fatalf("worker says %q, %v", line, err)
		}
		worker.Process.Signal(syscall.SIGSTOP)
		files.Write(t, gate, "")
		eventually(t, "the command has exited", func() bool { return len(marked(t, mark)) == 0 })
		lease.Close()
		worker.Process.Signal(syscall.SIGCONT)
		said, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Wait(); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.TrimSpace(string(said)), "failed exit code 3"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
