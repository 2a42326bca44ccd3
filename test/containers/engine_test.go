package containers

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/lacking"
)

// toyImage is the image of the program toy.
const toyImage = "rota-toy:1"

// dockerd is an engine of the test's own.
type dockerd struct {
	t      *testing.T
	dir    string
	socket string
	flags  []string
	cmd    *exec.Cmd
	ended  chan struct{}
	below  *exec.Cmd // containerd, which outlives a killed dockerd as it does under systemd
	client http.Client
}

// startEngine starts an engine that has the image of toy, and stops it when the test ends.
func startEngine(t *testing.T, flags ...string) *dockerd {
	t.Helper()
	if os.Getenv("ROTA_CONTAINERS") == "" {
		t.Skip("starts Docker's engine, as make docker-test does: set ROTA_CONTAINERS=1")
	}
	if _, err := exec.LookPath("dockerd"); err != nil || os.Geteuid() != 0 {
		lacking.Report(t, "needs dockerd and root (%v)", err)
	}
	dir, err := os.MkdirTemp("", "rota-dockerd-") //nolint:usetesting // short, because paths of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	d := &dockerd{t: t, dir: dir, socket: dir + "/docker.sock", flags: flags}
	d.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	}}
	d.startBelow()
	t.Cleanup(d.close)
	d.start()
	d.importToy()
	return d
}

// run starts a program of the engine, which writes to the log.
func (d *dockerd) run(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	log, err := os.OpenFile(d.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	// An engine without a bridge removes docker0, which belongs to the engine of this machine.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		lacking.Report(d.t, "start %s: %v", name, err)
	}
	return cmd
}

func (d *dockerd) startBelow() {
	d.t.Helper()
	config := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
		d.dir+"/containerd", d.dir+"/state", d.dir+"/containerd.sock")
	if err := os.WriteFile(d.dir+"/containerd.toml", []byte(config), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.below = d.run("containerd", "--config="+d.dir+"/containerd.toml")
}

func (d *dockerd) start() {
	d.t.Helper()
	config := d.dir + "/daemon.json" // not that of the machine
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.cmd = d.run("dockerd", append([]string{
		"--config-file=" + config,
		"--host=unix://" + d.socket, "--data-root=" + d.dir + "/data", "--exec-root=" + d.dir + "/exec", "--pidfile=" + d.dir + "/pid",
		"--bridge=none", "--iptables=false", "--storage-driver=vfs", "--containerd=" + d.dir + "/containerd.sock",
	}, d.flags...)...)
	d.ended = make(chan struct{})
	go func() { defer close(d.ended); _ = d.cmd.Wait() }()
	cluster.Await(d.t, 60*time.Second, "the engine answers", func() bool {
		select {
		case <-d.ended:
			text, _ := os.ReadFile(d.dir + "/log")
			lacking.Report(d.t, "dockerd does not start: %s", text[max(0, len(text)-2000):])
		default:
		}
		resp, err := d.client.Get("http://docker/_ping")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// stop ends the engine by a signal.
func (d *dockerd) stop(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Error(err)
	}
	<-d.ended
}

func (d *dockerd) close() {
	if d.t.Failed() {
		text, _ := os.ReadFile(d.dir + "/log")
		d.t.Logf("the end of dockerd's log:\n%s", text[max(0, len(text)-4000):])
	}
	for id := range strings.FieldsSeq(d.docker("ps", "--all", "--quiet")) {
		d.docker("rm", "--force", id)
	}
	d.stop(syscall.SIGTERM)
	_ = d.below.Process.Signal(syscall.SIGTERM)
	_ = d.below.Wait()
	_ = os.RemoveAll(d.dir)
}

// docker calls the client of the engine. Its errors are in the result.
func (d *dockerd) docker(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"--host=unix://" + d.socket}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// running lists the names of the containers that run; all also lists the others.
func (d *dockerd) running() []string { return strings.Fields(d.docker("ps", "--format", "{{.Names}}")) }
func (d *dockerd) all() []string {
	return strings.Fields(d.docker("ps", "--all", "--format", "{{.Names}}"))
}

// importToy makes the image of toy, without a registry.
func (d *dockerd) importToy() {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "toy")
	build := exec.Command("go", "build", "-o", path, "./testdata/toy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		d.t.Fatalf("build toy: %v\n%s", err, out)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "toy", Mode: 0o755, Size: int64(len(program))}); err != nil {
		d.t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		d.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	repo, tag, _ := strings.Cut(toyImage, ":")
	query := url.Values{"fromSrc": {"-"}, "repo": {repo}, "tag": {tag}, "changes": {`ENTRYPOINT ["/toy"]`}}
	resp, err := d.client.Post("http://docker/images/create?"+query.Encode(), "application/x-tar", &archive)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"error"`)) {
		d.t.Fatalf("import toy: %s %s", resp.Status, text)
	}
}
