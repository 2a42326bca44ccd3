package httpx_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// executeUntilHungUp acts as a worker that loses its lease when its stdin ends. It prints the outcome of its request.
func executeUntilHungUp(url string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel(executor.ErrFenced)
	}()
	e := httpx.New(httpx.Config{}, time.Now)
	e.AwaitArrival(time.Minute) // the machine may be busy
	o := e.Execute(ctx, request(job.HTTP{URL: url, Method: http.MethodPost}, io.Discard))
	fmt.Println(o.State, o.Reason)
}

// TestAResponseThatArrivedDuringASuspensionCounts suspends a worker while its target answers and its lease is lost. The worker
// may notice the response or the lost lease first.
func TestAResponseThatArrivedDuringASuspensionCounts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct{ answer, want string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone", "succeeded"},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "failed status 404 Not Found"},
	} {
		for range 8 {
			if got := suspended(t, l, tt.answer); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		}
	}
}

// suspended returns what a worker says that is suspended while it gets an answer from l and loses its lease.
func suspended(t *testing.T, l net.Listener, answer string) string {
	t.Helper()
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), "ROTA_TEST_PAUSED=http://"+l.Addr().String())
	lease, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	worker.Stdout = &said
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		t.Fatal(err)
	}
	worker.Process.Signal(syscall.SIGSTOP)
	io.WriteString(conn, answer)
	lease.Close()
	worker.Process.Signal(syscall.SIGCONT)
	if err := worker.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(said.String())
}
