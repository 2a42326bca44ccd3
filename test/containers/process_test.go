package containers

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/container"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// roleVariable has the request and the socket if the test binary plays a worker.
const roleVariable = "ROTA_CONTAINERS_WORKER"

type role struct {
	Socket string
	Run    job.Run
	Spec   job.Spec
}

// TestMain executes one attempt if the process plays a worker.
func TestMain(m *testing.M) {
	text := os.Getenv(roleVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	cfg := container.Config{Socket: r.Socket, Cluster: "test", Worker: "w1"}
	container.New(cfg, time.Now).Execute(context.Background(), executor.Request{Run: r.Run, Spec: r.Spec, Output: io.Discard})
	_ = syscall.Pause() // until it is killed
}

type workerProcess struct {
	t   *testing.T
	cmd *exec.Cmd
}

// startWorkerProcess executes an attempt in a process of its own.
func startWorkerProcess(t *testing.T, d *dockerd, r executor.Request) *workerProcess {
	t.Helper()
	text, err := json.Marshal(role{Socket: d.socket, Run: r.Run, Spec: r.Spec})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &workerProcess{t, cmd}
	t.Cleanup(w.kill)
	return w
}

func (w *workerProcess) kill() {
	if w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}
