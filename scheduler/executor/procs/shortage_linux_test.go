package procs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/fewfiles"
)

// TestAProcessWithoutDescriptors looks for processes while this one cannot open a file for a moment.
func TestAProcessWithoutDescriptors(t *testing.T) {
	const life = "test-shortage"
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), Env + "=" + Mark(life, 1)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	restore := fewfiles.Begin(t)
	_, _, unread := marksOf([]int{cmd.Process.Pid})
	_, unfound := new(Sweeper).Find(Mark(life, 1))
	alive := Alive(cmd.Process.Pid)
	r := &reading{pids: []int{cmd.Process.Pid, os.Getpid()}, marks: make([]string, 2), done: make(chan struct{})}
	r.run()
	restored := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() { restore(); close(restored) })
	killed := new(Sweeper).Kill(Mark(life, 1))
	<-restored
	for what, err := range map[string]error{"its mark was read": unread, "it was looked for": unfound} {
		if err == nil {
			t.Errorf("without a descriptor, %s without an error", what)
		}
	}
	if r.at.Load() != 2 || r.err == nil {
		t.Errorf("a reading that ended early is at process %d with error %v, so that the next one may count as hanging", r.at.Load(), r.err)
	}
	if !alive {
		t.Error("a group that cannot be read counts as gone")
	}
	if killed != nil {
		t.Errorf("after the shortage: %v", killed)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the process was not killed")
		_ = cmd.Process.Kill()
	}
}
