package command_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
)

// TestAnExitStatusThatWasTakenIsNoPanic reaps all children. A Go program that contains the worker and is process 1 of a
// container does the same.
func TestAnExitStatusThatWasTakenIsNoPanic(t *testing.T) {
	stop := make(chan struct{})
	var undertaker sync.WaitGroup
	defer undertaker.Wait()
	defer close(stop)
	undertaker.Go(func() {
		for {
			syscall.Wait4(-1, nil, 0, nil)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond): // there may be no child yet
			}
		}
	})
	var o job.Outcome
	for range 50 { // many tries, because the executor sometimes reaps its child first
		if o = newExecutor().Execute(t.Context(), request(t, argv("sleep", "0.1"), io.Discard)); o.State != job.Succeeded {
			break
		}
	}
	if o.State != job.Failed || !o.Retry || !strings.HasPrefix(o.Reason, "exit status is unknown") {
		t.Errorf("got %+v, want a failure with an unknown exit status", o)
	}
}

func TestOutputHeldByAStrangerDoesNotHang(t *testing.T) {
	// A process without the mark and outside the group is not found. It keeps the output open.
	var out buffer.Buffer
	file := filepath.Join(t.TempDir(), "pid")
	req := request(t, shell("setsid env -i sh -c 'echo $$ >"+file+"; exec sleep 1000' & while [ ! -s "+file+" ]; do sleep 0.01; done; echo done"), &out)
	o := newExecutor().Execute(t.Context(), req)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the stranger has not survived, so the test proves nothing: %v", err)
	}
	if o.State != job.Succeeded || out.String() != "done\n" {
		t.Errorf("output %q, outcome %+v", out.String(), o)
	}
}

// TestEndOfAThreadDoesNotKillACommand ends threads while commands are started. The kernel sends the parent-death signal when
// the thread that started the command ends.
func TestEndOfAThreadDoesNotKillACommand(t *testing.T) {
	stop := make(chan struct{})
	var churn, commands sync.WaitGroup
	for range 4 {
		churn.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var thread sync.WaitGroup
				thread.Go(runtime.LockOSThread) // never unlocked: the thread ends with the goroutine
				thread.Wait()
			}
		})
	}
	e := newExecutor()
	for range 60 {
		commands.Go(func() {
			if o := e.Execute(t.Context(), request(t, argv("sleep", "0.3"), io.Discard)); o.State != job.Succeeded {
				t.Errorf("got %+v, want success", o)
			}
		})
	}
	commands.Wait()
	close(stop)
	churn.Wait()
}

func TestKilledWorkerKillsItsCommand(t *testing.T) {
	mark := newMark(t)
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), "ROTA_TEST_WORKER="+mark)
	stdout, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "began\n" {
		t.Fatalf("worker says %q, %v", line, err)
	}
	eventually(t, "command is there", func() bool { return len(marked(t, mark)) == 1 })
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	worker.Wait()
	eventually(t, "command is gone", func() bool { return len(marked(t, mark)) == 0 })
}

func BenchmarkExecute(b *testing.B) {
	e := newExecutor()
	life, n := "bench-"+rand.Text(), atomic.Int64{}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req := executor.Request{Spec: job.Spec{Command: []string{"/bin/true"}}, Output: io.Discard, Mark: procs.Mark(life, n.Add(1))}
			if o := e.Execute(context.Background(), req); o.State != job.Succeeded {
				b.Error(o)
			}
		}
	})
}
