package holes

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/ports"
)

// The users of the machine. Nothing else has their ids.
const (
	serviceUser   = 23001
	neighbourUser = 23002 // an attacker with a login and nothing else
	jobUser       = 23003 // the user of commands, with worker.run_as
)

// The secrets of a service. An attacker that sees one of them has won.
const (
	secretVariable = "hunter2-of-the-service"   //nolint:gosec // the bait of the attacks
	secretKey      = "key-bytes-of-the-service" //nolint:gosec // as above
	secretOpenFile = "bytes-of-an-open-file"    //nolint:gosec // as above
	secretMetadata = "credentials-of-the-cloud" //nolint:gosec // as above
)

// server is a running rota, as an attacker meets it.
type server struct {
	t       *testing.T
	rota    string // the binary
	version string // for messages
	dir     string // everything of the service
	url     string // on loopback
	port    int
	etcd    string // URL of the embedded etcd
	key     string // path of a secret file, which only the user of the service can read
	token   string // of the attacker, which may have a role; empty: none
	process *exec.Cmd
	ended   chan struct{} // closed at the end of the process
	log     string        // path
	client  *http.Client  // for health checks
}

// setup says how a server is started.
type setup struct {
	version string       // for messages
	rota    string       // the binary
	user    uint32       // 0: root
	listen  string       // host; empty: loopback
	flags   []string     // of `rota serve`
	wrapper []string     // a command that starts the binary; nil: none
	token   string       // of the attacker
	secure  bool         // etcd has TLS, and flags name its files
	https   *http.Client // the API has TLS, and admits this client; nil: plain HTTP
	dir     string       // empty: a new one
}

// serve starts a rota and waits until it is ready, or until it has ended.
func serve(t *testing.T, s setup) *server {
	t.Helper()
	if s.dir == "" {
		s.dir = newDir(t, s.user)
	}
	free := ports.Free(t, 3)
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	v := &server{
		t: t, rota: s.rota, version: s.version, dir: s.dir, token: s.token, ended: make(chan struct{}),
		url: fmt.Sprintf("http://127.0.0.1:%d", free[0]), port: free[0], etcd: fmt.Sprintf("%s://127.0.0.1:%d", scheme, free[1]),
		log: filepath.Join(s.dir, "log"), key: filepath.Join(s.dir, "service.key"), client: stranger,
	}
	if s.https != nil {
		v.url, v.client = strings.Replace(v.url, "http:", "https:", 1), s.https
	}
	if s.listen == "" {
		s.listen = "127.0.0.1"
	}
	args := append([]string{
		"serve", "--node-name=q1", "--node-data-dir=" + filepath.Join(s.dir, "data"),
		fmt.Sprintf("--http-listen=%s:%d", s.listen, free[0]),
		"--etcd-embedded-client=" + v.etcd, fmt.Sprintf("--etcd-embedded-peer=http://127.0.0.1:%d", free[2]),
		"--log-format=text",
	}, s.flags...)
	v.start(s, args)
	return v
}

// start starts the process, as its user, and waits for it.
func (v *server) start(s setup, args []string) {
	v.t.Helper()
	for path, text := range map[string]string{v.key: secretKey, filepath.Join(v.dir, "open"): secretOpenFile} {
		v.must(os.WriteFile(path, []byte(text), 0o600))
		v.must(os.Chown(path, int(s.user), int(s.user)))
	}
	inherited, err := os.Open(filepath.Join(v.dir, "open")) // as a shell passes its descriptors on
	v.must(err)
	defer inherited.Close()
	out, err := os.Create(v.log)
	v.must(err)
	defer out.Close()
	argv := append(append(append([]string{}, s.wrapper...), s.rota), args...)
	v.process = exec.Command(argv[0], argv[1:]...)
	v.process.Stdout, v.process.Stderr, v.process.Dir = out, out, v.dir
	v.process.ExtraFiles = []*os.File{inherited}
	v.process.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + v.dir, "XDG_STATE_HOME=" + v.dir, "DB_PASSWORD=" + secretVariable}
	v.process.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.user, Gid: s.user}}
	v.must(v.process.Start())
	go func() { // ends with the process, which the clean-up kills
		_ = v.process.Wait() // the state of the process has the result
		close(v.ended)
	}()
	v.t.Cleanup(func() {
		v.kill()
		if v.t.Failed() {
			text, _ := os.ReadFile(v.log)
			lines := strings.Split(string(text), "\n")
			v.t.Logf("the end of the log of %s:\n%s", v.version, strings.Join(lines[max(0, len(lines)-15):], "\n"))
		}
	})
	if !cluster.Within(60*time.Second, func() bool { return !v.runs() || v.ready() }) {
		v.t.Fatalf("%s does not become ready", v.version)
	}
}

// runs reports whether the process has not ended.
func (v *server) runs() bool {
	select {
	case <-v.ended:
		return false
	default:
		return true
	}
}

func (v *server) pid() int { return v.process.Process.Pid }

// ready reports whether the server says so within two seconds.
func (v *server) ready() bool {
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/readyz", nil)
	v.must(err)
	res, err := v.client.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (v *server) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatalf("%s: %v", v.version, err)
	}
}

// newDir makes a directory of a user that others can enter, but not read.
func newDir(t *testing.T, user uint32) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "service-") //nolint:usetesting // other users cannot enter a directory of the testing package
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chown(dir, int(user), int(user))
	}
	if err == nil {
		err = os.Chmod(dir, 0o711) //nolint:gosec // the jobs of another user have their directory in it
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// as runs a command as a user of the machine and returns its output.
func as(t *testing.T, user uint32, argv ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
