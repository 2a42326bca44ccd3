package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// jobImage is the image of testdata/job.
const jobImage = "localhost/rota-test-job:1"

// node is a real Kubernetes node on this machine: see node.sh.
type node struct {
	t   *testing.T
	dir string
}

// startNode starts a node, with the images. The programs of the node must exist, because their build takes minutes: make
// kubernetes-test builds them.
func startNode(t *testing.T, images ...string) *node {
	t.Helper()
	dir := os.Getenv("ROTA_TEST_KUBERNETES")
	if dir == "" {
		t.Skip("NOT TESTED: needs a Kubernetes node: run make kubernetes-test")
	}
	n := &node{t: t, dir: dir}
	n.script("down")
	t.Cleanup(func() { n.script("down") })
	n.script("up")
	n.script("load", images...)
	return n
}

// script calls node.sh.
func (n *node) script(command string, args ...string) {
	n.t.Helper()
	n.run("./node.sh", append([]string{command, n.dir}, args...)...)
}

// run runs a program to its end, and returns what it prints. A failure ends the test.
func (n *node) run(program string, args ...string) string {
	n.t.Helper()
	out, err := n.try("", program, args...)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// try does the same as run, with an input, and returns failures.
func (n *node) try(input, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig())
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

func (n *node) kubeconfig() string { return filepath.Join(n.dir, "kubeconfig") }

func (n *node) kubectl(args ...string) string {
	n.t.Helper()
	return n.run("kubectl", args...)
}

// names returns the names of the objects of a kind in the namespace default.
func (n *node) names(kind string) []string {
	n.t.Helper()
	return strings.Fields(n.kubectl("get", kind, "-o", "name"))
}

// signal sends a signal to a program of the node, such as apiserver.
func (n *node) signal(program string, sig syscall.Signal) {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "run", program+".pid"))
	if err != nil {
		n.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		n.t.Fatal(err)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		n.t.Fatal(err)
	}
}

// buildJobImage builds the image of testdata/job.
func buildJobImage(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "job"), "./testdata/job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, cmd := range []*exec.Cmd{
		build,
		exec.Command("cp", "testdata/job/Dockerfile", dir),
		exec.Command("docker", "build", "--quiet", "--tag", jobImage, dir),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
}
