package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
	"github.com/rota-scheduler/rota/test/ports"
)

// needRoot skips a test that starts processes of several users, or fails it if ROTA_CI=1.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking.Report(t, "needs root, to start processes of other users")
	}
}

// TestCommandsRunAsAnotherUser starts a replica with worker.run_as. Its job has the rights of that user, and gets a secret that
// only the replica can read. When the replica is killed, its nanny kills the processes of the job.
func TestCommandsRunAsAnotherUser(t *testing.T) {
	slow(t)
	needRoot(t)
	secret := files.Write(t, filepath.Join(t.TempDir(), "secret"), "hunter2-of-root")
	c := Start(t, Config{
		Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{
			"who": {
				Shell: `id -un; id -Gn; echo "$HOME $USER"; test -n "$S" && echo secret; echo rows=7 >"$ROTA_OUTPUT"`,
				Env:   map[string]string{"S": "${file:" + secret + "}"},
			},
			"keys": {Shell: "cat " + secret + "; ls $DIR", Env: map[string]string{"DIR": filepath.Dir(secret)}},
			"stay": {Shell: "setsid sleep 1000 & sleep 1000"},
		},
		Flags: func(string) []string { return []string{"--worker-run-as=nobody", "--worker-refs-files=" + secret} },
	})
	q1 := c.Replicas()[0]
	out, code := Command(t, binary, "run", "who", "--wait", "--logs", "--server", q1.URL)
	if want := "nobody\nnogroup\n/nonexistent nobody\nsecret\n"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("got %d and %q, want %q", code, out, want)
	}
	if info, _ := Command(t, binary, "run-info", "who", "-o", "json", "--server", q1.URL); !strings.Contains(info, `"rows": "7"`) {
		t.Errorf("the run has no output: %s", info)
	}
	if out, code := Command(t, binary, "run", "keys", "--wait", "--logs", "--server", q1.URL); code == 0 || strings.Contains(out, "hunter2") {
		t.Errorf("got %d and %q, want a refusal", code, out)
	}
	if out, code := Command(t, binary, "run", "stay", "--server", q1.URL); code != 0 {
		t.Fatalf("got %d and %q", code, out)
	}
	sleepers := func() int { return len(Descendants(t, "ROTA_JOB=stay")) }
	Await(t, 20*time.Second, "the job runs", func() bool { return sleepers() >= 2 })
	q1.Kill()
	Await(t, 20*time.Second, "its processes are killed", func() bool { return sleepers() == 0 })
}

// TestRunAsNeedsTheRight starts replicas that cannot use worker.run_as, and one that can by capabilities alone.
func TestRunAsNeedsTheRight(t *testing.T) {
	slow(t)
	needRoot(t)
	const user = 23001
	serve := func(dir string, caps []uintptr, args ...string) *exec.Cmd {
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), binary, append([]string{
			"serve", "--node-name=q1", "--node-data-dir=" + dir, "--http-listen=127.0.0.1:0", "--http-socket=off",
			"--etcd-embedded-client=http://" + ports.Addr(t),
		}, args...)...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: user, Gid: user}, AmbientCaps: caps, Setpgid: true, Pdeathsig: syscall.SIGKILL,
		}
		return cmd
	}
	place := func() string {
		dir, err := os.MkdirTemp("/tmp", "rota-run-as-") //nolint:usetesting // another user must be able to enter its parents
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	run := filepath.Join(place(), "rota") // the folder of the binary belongs to root alone
	text, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(run, text, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Dir(run), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		caps []uintptr
		user string
		want string
	}{
		"no right":          {nil, "nobody", "this process may not start programs as user nobody: operation not permitted; start rota as root"},
		"half of them":      {[]uintptr{unix.CAP_SETUID, unix.CAP_SETGID}, "nobody", "without CAP_KILL, CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE; start"},
		"no such user":      {nil, "no-such-user", "this machine has no user no-such-user; write"},
		"no group is known": {nil, "54321", "write 54321:GROUP"},
	} {
		cmd := serve(place(), c.caps, "--worker-run-as="+c.user)
		cmd.Path = run
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: got %d and %q, want 78 and %q", name, code, out, c.want)
		}
	}

	dir := place()
	cmd := serve(dir, []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_PTRACE},
		"--worker-run-as=nobody", "--log-format=text")
	cmd.Path = run
	listen := ports.Addr(t)
	cmd.Args = append(cmd.Args, "--http-listen="+listen)
	if err := start()(cmd); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	url := fmt.Sprintf("http://%s", listen)
	Await(t, 30*time.Second, "it leads", func() bool {
		_, code := Command(t, binary, "status", "--server", url)
		return code == 0
	})
	out, code := Command(t, binary, "submit", "--wait", "--logs", "--server", url, "--", "/bin/sh", "-c", `id -un; grep -E "Cap(Eff|Prm|Amb)" /proc/self/status`)
	if code != 0 || !strings.Contains(out, "nobody\n") || strings.Count(out, "\t0000000000000000\n") != 3 {
		t.Errorf("got %d and %q, want nobody without capabilities", code, out)
	}
}
