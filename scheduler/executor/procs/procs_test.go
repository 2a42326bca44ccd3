package procs_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/test/poll"
)

// TestMain lets the test binary act as the nanny, and as a worker with a nanny. The tests kill that worker.
func TestMain(m *testing.M) {
	switch session := os.Getenv("ROTA_TEST_SESSION"); os.Getenv("ROTA_TEST_ROLE") {
	case "nanny":
		procs.Nanny(os.Stdin, session)
	case "worker":
		worker(session)
	default:
		os.Exit(m.Run())
	}
}

// worker starts a nanny, and a marked process that leaves its group. It reports this on stdout and waits for its own end.
func worker(session string) {
	os.Setenv("ROTA_TEST_ROLE", "nanny")
	os.Setenv(procs.Env, "outer.1") // as if the worker were a job of another one
	if _, err := procs.StartNanny(os.Args[0], nil, session); err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command("/bin/sh", "-c", "setsid sleep 1000 & sleep 1000")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), procs.Env + "=" + procs.Mark(session, 1)}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

func newSession() string { return "test-" + strings.ToLower(rand.Text()) }

// marked returns the living processes with this mark. If mark ends in a dot, it returns those of this life.
func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for kv := range strings.SplitSeq(string(b), "\x00") {
			v, ok := strings.CutPrefix(kv, procs.Env+"=")
			if ok && (v == mark || strings.HasSuffix(mark, ".") && strings.HasPrefix(v, mark)) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

var eventually = poll.Until

// spawn starts a shell text with a mark, and reaps it when the test ends.
func spawn(t *testing.T, mark, text string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OTHER=X" + procs.Env + "=x", procs.Env + "=" + mark, "LAST=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
	})
	return cmd
}

func TestKillMarkedFindsProcessesThatLeftTheirGroup(t *testing.T) {
	s := newSession()
	spawn(t, procs.Mark(s, 1), "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; exec sleep 1000")
	spawn(t, procs.Mark(s, 12), "sleep 1000 & wait")
	eventually(t, "all began", func() bool { return len(marked(t, s+".1")) == 5 && len(marked(t, s+".12")) == 2 })
	if err := procs.KillMarked(procs.Mark(s, 1)); err != nil {
		t.Fatal(err)
	}
	if left := marked(t, s+".1"); len(left) > 0 {
		t.Errorf("left of the attempt: %v", left)
	}
	if n := len(marked(t, s+".12")); n != 2 {
		t.Errorf("another attempt has %d processes, want 2: its mark begins alike", n)
	}
	if err := procs.KillMarked(s); err != nil {
		t.Fatal(err)
	}
	if left := marked(t, s+"."); len(left) > 0 {
		t.Errorf("left of the session: %v", left)
	}
}

func TestEmptyMarksAreRefused(t *testing.T) {
	for _, mark := range []string{"", ".", "..", "a\x00b", "a=b"} {
		if procs.KillMarked(mark) == nil || new(procs.Sweeper).Kill(mark) == nil {
			t.Errorf("mark %q was accepted", mark)
		}
		if _, err := procs.StartNanny("/bin/true", nil, mark); err == nil {
			t.Errorf("mark %q was accepted by StartNanny", mark)
		}
	}
}

func TestSweeperServesManyAtATime(t *testing.T) {
	s := newSession()
	const n = 40
	for i := range n {
		spawn(t, procs.Mark(s, int64(i)), "setsid sleep 1000 & wait")
	}
	eventually(t, "all began", func() bool { return len(marked(t, s+".")) == 2*n })
	var sweeper procs.Sweeper
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			mark := procs.Mark(s, int64(i))
			if err := sweeper.Kill(mark); err != nil {
				t.Error(err)
			}
			if left := marked(t, mark); len(left) > 0 {
				t.Errorf("left of %s: %v", mark, left)
			}
		})
	}
	wg.Wait()
}

func TestAliveSeesTheGroup(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pgid := cmd.Process.Pid
	if !procs.Alive(pgid) {
		t.Error("group with members is not alive")
	}
	if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	eventually(t, "group with nothing but a zombie is not alive", func() bool { return !procs.Alive(pgid) })
	cmd.Wait()
}

func TestNannyKillsTheProcessesOfAKilledWorker(t *testing.T) {
	s := newSession()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ROTA_TEST_ROLE=worker", "ROTA_TEST_SESSION="+s)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { procs.KillMarked(s) })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("worker says %q, %v", line, err)
	}
	eventually(t, "job began", func() bool { return len(marked(t, s+".")) == 3 })

	// Kills the whole group, as a supervisor that kills at once does.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	eventually(t, "job is gone", func() bool { return len(marked(t, s+".")) == 0 })
	eventually(t, "nanny is gone", func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, f := range files {
			if b, _ := os.ReadFile(f); strings.Contains(string(b), "ROTA_TEST_SESSION="+s) {
				return false
			}
		}
		return true
	})
}

func TestStoppedNannyKillsTheProcessesThatAreLeft(t *testing.T) {
	s := newSession()
	t.Setenv("ROTA_TEST_ROLE", "nanny")
	t.Setenv("ROTA_TEST_SESSION", s)
	stop, err := procs.StartNanny(os.Args[0], nil, s)
	if err != nil {
		t.Fatal(err)
	}
	spawn(t, procs.Mark(s, 7), "exec sleep 1000")
	eventually(t, "job began", func() bool { return len(marked(t, s+".")) == 1 })
	stop()
	if left := marked(t, s+"."); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	stop() // a second call does nothing
}

func BenchmarkKillMarked(b *testing.B) {
	s := newSession()
	for b.Loop() {
		if err := procs.KillMarked(s); err != nil {
			b.Fatal(err)
		}
	}
}
