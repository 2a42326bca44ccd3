package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the rota under test.
var binary string

// TestMain builds the binary once. ROTA_TEST_BINARY names one that exists already.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if binary = os.Getenv("ROTA_TEST_BINARY"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rota-page-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "rota")
	build := exec.Command("go", "build", "-o", binary, "github.com/rota-scheduler/rota/cmd/rota")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build rota:", err)
		return 1
	}
	return m.Run()
}
