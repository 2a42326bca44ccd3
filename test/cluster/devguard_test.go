package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestDevKeepsOthersOut asks each port of a `rota dev` without its token, as another user of the machine can. The commands of its
// own user need no flag.
func TestDevKeepsOthersOut(t *testing.T) {
	slow(t)
	c := StartDev(t, Config{Binary: binary, Jobs: map[string]job.Spec{"hello": {Shell: "echo hello"}}})
	dev := c.Replicas()[0]

	ask := func(method, path string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, dev.URL+path, strings.NewReader(`{"shell":"id"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	for path, method := range map[string]string{
		"/v1/jobs": "GET", "/v1/runs": "POST", "/v1/cluster": "GET", "/v1/events": "GET", "/metrics": "GET", "/v1/login-codes": "POST",
	} {
		if status := ask(method, path); status != http.StatusUnauthorized {
			t.Errorf("%s %s without a token: got %d, want 401", method, path, status)
		}
	}
	addr := strings.TrimPrefix(dev.Etcd, "https://")
	for _, endpoint := range []string{"http://" + addr, dev.Etcd} {
		client := Dial(t, []string{endpoint})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if resp, err := client.Get(ctx, Prefix+"/", clientv3.WithPrefix()); err == nil {
			t.Errorf("etcd gives a stranger %d records at %s", resp.Count, endpoint)
		}
		cancel()
	}
	if got := plainAnswer(t, addr); strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("etcd answers %q in plain HTTP", got)
	}

	own := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+c.Dir, "HOME="+c.Dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{
		{"jobs"}, {"status"}, {"run", "hello", "--wait", "--logs"}, {"verify"}, {"verify", "--server", dev.URL},
		{"etcdctl", "get", "--prefix", "/rota/jobs/"}, {"open", "--print"}, {"jobs", "--server", "unix://" + filepath.Join(c.Dir, "data", "of-1", "q1", "api.sock")},
	} {
		if out, err := own(args...); err != nil {
			t.Errorf("rota %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, file := range []string{"data/token", "data/auth.yaml", "data/dev.yaml", "data/tls/client.key", "data/tls/ca.key", "data/tls/q1.key", "rota/dev-credentials.yaml"} {
		info, err := os.Stat(filepath.Join(c.Dir, file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want a file that only its owner can read", file, info, err)
		}
	}
	t.Run("as another user", func(t *testing.T) { asStranger(t, c, dev.URL) })
}

// plainAnswer returns the first line that a port answers to a request in plain HTTP.
func plainAnswer(t *testing.T, addr string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET /version HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", addr); err != nil {
		return ""
	}
	answer, _ := io.ReadAll(conn) // a broken connection is an answer as well
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}

// asStranger runs commands as another user of the machine.
func asStranger(t *testing.T, c *Cluster, url string) {
	needRoot(t)
	const nobody = 65534
	program := filepath.Join("/tmp", fmt.Sprintf("rota-stranger-%d", os.Getpid()))
	text, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, text, 0o755) //nolint:gosec // another user executes it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(program)
	// Even if the modes of the files let others in, the kernel tells the replica who is at the other end of its socket.
	data := filepath.Join(c.Dir, "data")
	for _, path := range []string{filepath.Dir(c.Dir), c.Dir, data, data + "/of-1", data + "/of-1/q1"} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // the test opens the way on purpose
			t.Fatal(err)
		}
	}
	socket := data + "/of-1/q1/api.sock"
	if err := os.Chmod(socket, 0o666); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"jobs", "--server", "unix://" + socket},
		{"jobs", "--server", url}, {"submit", "--server", url, "--", "id"}, {"jobs", "--server", url, "--token-file", filepath.Join(c.Dir, "data", "token")},
		{"etcdctl", "--endpoints", "http://" + fmt.Sprintf("127.0.0.1:%d", devEtcd), "--command-timeout=2s", "get", "/rota/"},
		{"verify", "--server", url},
	} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = "/", []string{"HOME=/nonexistent"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if _, refused := errors.AsType[*exec.ExitError](err); !refused {
			t.Errorf("rota %s as another user: got %v and %s, want a refusal", strings.Join(args, " "), err, out)
		}
		t.Logf("rota %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
}
