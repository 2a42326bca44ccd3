package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// binary is the rota under test.
var binary string

// TestMain builds the binary once. ROTA_TEST_BINARY names one that exists already.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-terminal-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "rota") // shells find it by its name
	if from := os.Getenv("ROTA_TEST_BINARY"); from != "" {
		err = os.Symlink(from, binary)
	} else {
		build := exec.Command("go", "build", "-o", binary, "github.com/rota-scheduler/rota/cmd/rota")
		build.Stdout, build.Stderr = os.Stdout, os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build rota:", err)
		return 1
	}
	return m.Run()
}

// need skips the test if a program is missing, except in CI.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	missing := program + " is missing: apt-get install " + program
	if os.Getenv("ROTA_CI") == "1" {
		t.Fatal(missing)
	}
	fmt.Fprintln(os.Stderr, "test/terminal: SKIPPED, since "+missing)
	t.Skip(missing)
	return ""
}

// jobs are the jobs of the clusters. One runs each second, one fails whenever it runs, and one takes long.
func jobs() map[string]job.Spec {
	return map[string]job.Spec{
		"tick": {Description: "Every second", Every: job.Duration(time.Second), Shell: "echo tick tock"},
		"bad":  {Description: "Fails always", Shell: "echo broken >&2; exit 3"},
		"long": {Description: "Takes long", Shell: "echo begun; sleep 600", Limits: []string{"database"}},
	}
}

func start(t *testing.T) *cluster.Cluster { return startWith(t, jobs()) }

func startWith(t *testing.T, specs map[string]job.Spec) *cluster.Cluster {
	t.Helper()
	limits := map[string]job.LimitSpec{"database": {Concurrent: 2}}
	return cluster.Start(t, cluster.Config{Binary: binary, Jobs: specs, Limits: limits})
}
