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

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, func(rota, dir string) (err error) {
		if binary = rota; filepath.Base(rota) != "rota" { // shells find it by its name
			binary = filepath.Join(dir, "rota")
			err = os.Symlink(rota, binary)
		}
		return err
	}))
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
