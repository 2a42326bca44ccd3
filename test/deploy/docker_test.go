package deploy

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/lacking"
)

// commandTimeout bounds a docker command that does not build.
const commandTimeout = time.Minute

// command runs a program and returns its output of both streams.
func command(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// docker runs one docker command, which must succeed.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryDocker(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryDocker(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout) // this also runs after the end of the test
	defer cancel()
	return command(ctx, nil, append([]string{"docker"}, args...)...)
}

// image builds the image as a user does and returns its name. It is removed when the test ends.
func image(t *testing.T) string {
	t.Helper()
	if _, err := tryDocker("version", "--format", "{{.Server.Version}}"); err != nil {
		lacking.Report(t, "Docker does not answer: %v", err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	name := newImageName()
	t.Cleanup(func() { _, _ = tryDocker("image", "rm", "--force", name) }) // ignores errors: the image may not exist
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	if _, err := command(ctx, nil, "make", "-C", root, "docker", "IMAGE="+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// newImageName returns the name of an image that no other test has.
func newImageName() string { return "rota-test:" + strings.ToLower(rand.Text()[:8]) }

// freePort returns a free port of loopback. The kernel gives out ports in turn, so it is unlikely that another process takes
// the port first.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// eventually polls until check returns nil. If that takes longer than d, it fails the test with the last error.
func eventually(t *testing.T, d time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > d {
			t.Fatalf("%s: not within %v: %v", what, d, err)
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
