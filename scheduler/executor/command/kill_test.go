package command_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestMain lets the test's own program play a worker that is going to be killed.
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

// marked lists living processes with this mark.
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

// children lists this process's children, zombies too.
func children(t *testing.T) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(files) == 0 {
		t.Skip("the kernel does not list children")
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		pids = append(pids, strings.Fields(string(b))...)
	}
	return pids
}

// memory is what the heap and the stacks take, in bytes.
func memory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// every writes to a each n-th time, and to b the others.
func every(a, b io.Writer, n int) io.Writer {
	i := 0
	return writerFunc(func(p []byte) (int, error) {
		if i++; i%n == 0 {
			return a.Write(p)
		}
		return b.Write(p)
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within ten seconds: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// endAfter executes spec, ends it with cause once it has said "began" and has n processes, and returns the outcome.
func endAfter(t *testing.T, spec job.Spec, n int, cause error) (job.Outcome, string) {
	t.Helper()
	var out lockedBuffer
	req := request(t, spec, &out)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan job.Outcome, 1)
	go func() { done <- newExecutor().Execute(ctx, req) }()
	eventually(t, "all began", func() bool {
		return strings.Contains(out.String(), "began\n") && len(marked(t, req.Mark)) == n
	})
	cancel(cause)
	o := <-done
	if left := marked(t, req.Mark); len(left) > 0 {
		t.Errorf("Execute has returned, and processes are left: %v", left)
	}
	return o, out.String()
}

func TestTimeoutKillsTheWholeTree(t *testing.T) {
	spec := job.Spec{
		Shell:     "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &); echo began; wait; sleep 1000",
		KillGrace: job.Duration(10 * time.Second), Timeout: job.Duration(time.Minute),
	}
	o, _ := endAfter(t, spec, 6, executor.ErrTimeout)
	if o.State != job.TimedOut || o.Reason != "timed out after 1m, ended by SIGTERM" || o.Exit == nil || *o.Exit != 143 {
		t.Errorf("got %+v, want timed out", o)
	}
}

func TestCommandThatIgnoresSIGTERMIsKilledAfterItsGrace(t *testing.T) {
	spec := job.Spec{Shell: "trap '' TERM; echo began; sleep 1000 & wait; sleep 1000", KillGrace: job.Duration(200 * time.Millisecond)}
	start := time.Now()
	o, _ := endAfter(t, spec, 2, executor.ErrCanceled)
	if o.State != job.Canceled || o.Reason != "canceled, killed by SIGKILL after 200ms of grace" || *o.Exit != 137 {
		t.Errorf("got %+v, want canceled", o)
	}
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("killed after %v, within its grace", took)
	}
}

// The grace of a job may be longer than the lease of a worker that is cut off from the others.
func TestNothingOutlivesWhatOthersMayRepeat(t *testing.T) {
	for name, cause := range map[string]error{
		"worker lost its lease": executor.ErrFenced,
		"timed out":             executor.ErrTimeout, // and in its grace the lease is lost
	} {
		t.Run(name, func(t *testing.T) {
			var out lockedBuffer
			hurry := make(chan struct{})
			req := request(t, job.Spec{Shell: "trap 'echo asked' TERM; echo began; while :; do sleep 0.01; done", KillGrace: job.Duration(10 * time.Second)}, &out)
			req.Hurry = hurry
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan job.Outcome, 1)
			go func() { done <- newExecutor().Execute(ctx, req) }()
			eventually(t, "it began", func() bool { return strings.Contains(out.String(), "began\n") })
			cancel(cause)
			eventually(t, "it was asked to end", func() bool { return strings.Contains(out.String(), "asked\n") })
			close(hurry)
			if o, want := <-done, name+", killed by SIGKILL before others may repeat it"; o.Reason != want {
				t.Errorf("reason %q, want %q", o.Reason, want)
			}
		})
	}
}

func TestGraceIsTheWholeGroups(t *testing.T) {
	const slow = `sh -c 'trap "sleep 0.2; echo in order; exit 0" TERM; echo began; while :; do sleep 0.01; done'`
	for name, text := range map[string]string{
		// The shell dies of SIGTERM at once; what it runs needs a moment to put things in order.
		"in the group":                slow + " & wait",
		"in one of its own":           "timeout 60 " + slow + "; true",
		"in a session of its own":     "setsid " + slow + " & wait",
		"what it starts to do so too": `sh -c 'trap "timeout 10 sleep 0.2 && echo in order; exit 0" TERM; echo began; while :; do sleep 0.01; done' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			var out lockedBuffer
			req := request(t, job.Spec{Shell: text, KillGrace: job.Duration(10 * time.Second)}, &out)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan job.Outcome, 1)
			go func() { done <- newExecutor().Execute(ctx, req) }()
			eventually(t, "it began", func() bool { return strings.Contains(out.String(), "began\n") })
			cancel(executor.ErrStopping)
			o := <-done
			if o.State != job.Lost || !strings.HasPrefix(o.Reason, "worker stopped, ended by SIGTERM") {
				t.Errorf("got %+v, want lost", o)
			}
			if !strings.HasSuffix(out.String(), "in order\n") {
				t.Errorf("output %q: the child was not given its grace", out.String())
			}
		})
	}
}

func TestStoppedCommandSeesSIGTERM(t *testing.T) {
	spec := job.Spec{Shell: "(sleep 0.1; echo began) & kill -STOP $$; sleep 1000", KillGrace: job.Duration(10 * time.Second)}
	o, _ := endAfter(t, spec, 1, executor.ErrTimeout)
	if *o.Exit != 143 {
		t.Errorf("got %+v, want an end by SIGTERM", o)
	}
}

func TestLeftoversAreKilledWhenTheCommandEnds(t *testing.T) {
	for name, text := range map[string]string{
		"in the background":               "sleep 1000 & echo done",
		"with nohup":                      "nohup sleep 1000 >/dev/null 2>&1 & echo done",
		"in a session of its own":         "setsid sleep 1000 & sleep 0.05; echo done",
		"forked twice":                    "(setsid sh -c 'sleep 1000 & echo $! >/dev/null' &) ; sleep 0.05; echo done",
		"without the environment":         "env -i sleep 1000 & echo done",
		"in the background after failure": "sleep 1000 & echo done; exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			var out lockedBuffer
			req := request(t, shell(text), &out)
			start := time.Now()
			o := newExecutor().Execute(t.Context(), req)
			if left := marked(t, req.Mark); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if out.String() != "done\n" || o.Exit == nil || o.State == job.TimedOut {
				t.Errorf("output %q, outcome %+v", out.String(), o)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v: somebody who holds stdout was waited for", took)
			}
		})
	}
}

// A Go program around the worker may bury all children of its process, as one does that is process 1 of a container.
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
	for range 50 { // now and then the executor is faster
		if o = newExecutor().Execute(t.Context(), request(t, argv("sleep", "0.1"), io.Discard)); o.State != job.Succeeded {
			break
		}
	}
	if o.State != job.Failed || !o.Retry || !strings.HasPrefix(o.Reason, "exit status is unknown") {
		t.Errorf("got %+v, want a failure that does not know the exit status", o)
	}
}

func TestOutputHeldByAStrangerDoesNotHang(t *testing.T) {
	// Without its environment and out of its group the process is not found; it has the output open.
	var out lockedBuffer
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
		t.Errorf("the stranger has not survived, the test proves nothing: %v", err)
	}
	if o.State != job.Succeeded || out.String() != "done\n" {
		t.Errorf("output %q, outcome %+v", out.String(), o)
	}
}

// TestEndOfAThreadDoesNotKillACommand ends threads all the time while commands are started, among them those that would
// have forked a command and then gone on to something else: a parent-death signal is about the thread.
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

func TestKilledWorkerTakesItsCommandAlong(t *testing.T) {
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
	req := executor.Request{Spec: job.Spec{Command: []string{"/bin/true"}}, Output: io.Discard, Mark: procs.Mark("bench-"+rand.Text(), 1)}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if o := e.Execute(context.Background(), req); o.State != job.Succeeded {
				fmt.Println(o)
			}
		}
	})
}
