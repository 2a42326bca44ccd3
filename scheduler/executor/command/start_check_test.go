package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// executeWithoutDescriptors executes an attempt in a process that cannot open another file, and prints the outcome.
func executeWithoutDescriptors() {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: 3}); err != nil {
		fmt.Println(err)
		return
	}
	o := newExecutor().Execute(context.Background(), executor.Request{Spec: shell("true"), Output: io.Discard})
	json.NewEncoder(os.Stdout).Encode(o)
}

func TestAMachineThatCannotStartProcesses(t *testing.T) {
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), "ROTA_TEST_LACKING=1")
	text, err := worker.Output()
	if err != nil {
		t.Fatal(err)
	}
	var o job.Outcome
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("worker says %q: %v", text, err)
	}
	if want := "make pipe for output: pipe2: too many open files, " + job.NotBegun; o.State != job.Lost || o.Reason != want {
		t.Errorf("got %+v, want it lost, since %q", o, want)
	}
	if err := command.CheckStart(); err != nil {
		t.Errorf("on a machine without shortages: %v", err)
	}
}
