package terminal

import (
	"os"
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
