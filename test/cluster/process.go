package cluster

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is one rota process, which may be started more than once.
type Process struct {
	Name string
	Args []string // arguments of every start
	Env  []string // environment variables, in addition to those of the test

	t      testing.TB
	binary string
	log    string // log file of all starts

	mu      sync.Mutex
	cmd     *exec.Cmd     // guarded by mu: nil before the first start
	ended   chan struct{} // guarded by mu: closed when cmd has ended
	stopped bool          // guarded by mu: stopped by SIGSTOP
}

// NewProcess makes a process. It is killed when the test ends.
func NewProcess(t testing.TB, binary, name string, args ...string) *Process {
	p := &Process{Name: name, Args: args, t: t, binary: binary, log: filepath.Join(t.TempDir(), name+".log")}
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("the end of what %s wrote:\n%s", name, p.Tail(40))
		}
	})
	return p
}

// start starts commands from one thread that never ends: a child with a parent-death signal dies with the parent's thread.
var start = sync.OnceValue(func() func(*exec.Cmd) error {
	type request struct {
		cmd  *exec.Cmd
		done chan error
	}
	requests := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
	return func(cmd *exec.Cmd) error {
		done := make(chan error)
		requests <- request{cmd, done}
		return <-done
	}
})

// Start starts the process. It must not be running.
func (p *Process) Start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		p.t.Fatalf("%s is running already", p.Name)
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(p.binary, p.Args...)
	cmd.Stdout, cmd.Stderr = out, out
	for _, kv := range append(os.Environ(), p.Env...) {
		if !strings.HasPrefix(kv, "ROTA_") && !strings.HasPrefix(kv, "ETCDCTL_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := start()(cmd); err != nil {
		p.t.Fatalf("start %s: %v", p.Name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended, p.stopped = cmd, ended, false
	go func() { // the goroutine ends with the process, which ends with the test
		_ = cmd.Wait() // the state of the process has the result
		close(ended)
	}()
}

// running reports whether the process runs. The caller has locked p.mu.
func (p *Process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Running reports whether the process has started and has not ended. A stopped process counts as running.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// PID returns the ID of the last started process.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Signal sends a signal to the process, which must be running.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		p.t.Fatalf("signal %v to %s: it is not running", sig, p.Name)
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("signal %v to %s: %v", sig, p.Name, err)
	}
	switch sig {
	case syscall.SIGSTOP:
		p.stopped = true
	case syscall.SIGCONT:
		p.stopped = false
	}
}

// Await waits until the process has ended and returns its exit code, or -1 if a signal ended it.
func (p *Process) Await(limit time.Duration) int {
	p.t.Helper()
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	select {
	case <-ended:
		return cmd.ProcessState.ExitCode()
	case <-time.After(limit):
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT) // it writes its goroutines to its log; it may have ended before
	select {
	case <-ended:
	case <-time.After(limit):
	}
	_, goroutines, _ := strings.Cut(p.Log(), "SIGQUIT: quit")
	p.t.Fatalf("%s has not ended within %v; its goroutines:%s", p.Name, limit, goroutines)
	return 0
}

// end kills the process if it runs, and waits for it.
func (p *Process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		_ = p.cmd.Process.Kill() // it may have ended before
		<-p.ended
	}
}

// Log returns the output of all starts of the process.
func (p *Process) Log() string {
	b, err := os.ReadFile(p.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Errorf("read log of %s: %v", p.Name, err)
	}
	return string(b)
}

// Tail returns the last n lines of the log.
func (p *Process) Tail(n int) string {
	lines := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Command runs rota to its end and returns its output and its exit code.
func Command(t testing.TB, binary string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run rota %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// NewToken makes a token of a principal with a role. entry is what makes it valid, for the list tokens of a file of auth.file.
func NewToken(t testing.TB, binary, principal, role string) (token, entry string) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), binary, "token", "create", principal, "--role", role, "--offline").Output()
	if err != nil {
		t.Fatal(err)
	}
	token, entry, _ = strings.Cut(string(text), "\n")
	_, entry, _ = strings.Cut(entry, "auth.file:\n")
	return token, entry
}

// Processes lists the processes of this machine whose arguments contain text, except those that have ended.
func Processes(t testing.TB, text string) []string { return find(t, "cmdline", text) }

// Descendants lists the processes that have a variable in their environment: those that a test started, and their children.
func Descendants(t testing.TB, variable string) []string {
	return find(t, "environ", "\x00"+variable+"\x00")
}

func find(t testing.TB, file, text string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, file)) // empty for a zombie; missing for a process that has just ended
		if err != nil {
			continue
		}
		if file == "cmdline" {
			b = bytes.ReplaceAll(b, []byte{0}, []byte{' '})
		}
		if strings.Contains("\x00"+string(b), text) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
