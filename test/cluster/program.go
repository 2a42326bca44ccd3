package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program returns the path of the rota under test. ROTA_TEST_BINARY names one that exists already. Otherwise Program builds one
// into dir, without the race detector: the tests kill processes and measure their normal speed.
func Program(dir string) (path string, err error) {
	if path := os.Getenv("ROTA_TEST_BINARY"); path != "" {
		return path, nil
	}
	return build(filepath.Join(dir, "rota"))
}

// Main runs the tests of a package with the rota under test, and returns the code for os.Exit. use receives the path of rota and
// a directory that lasts as long as the tests.
func Main(m *testing.M, use func(binary, dir string) error) int {
	dir, err := os.MkdirTemp("", "rota-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, err := Program(dir)
	if err == nil {
		err = use(binary, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds rota at path, with flags of the go command. The other flags are those of a release, so they share a cache.
func build(path string, flags ...string) (string, error) {
	args := append([]string{"build", "-trimpath", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "github.com/rota-scheduler/rota/cmd/rota")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return path, nil
}
