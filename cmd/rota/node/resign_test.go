package node

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/test/files"
)

// TestAStopResignsBeforeAnythingElse stops a leader whose job files hang, for example because a file server does not answer.
func TestAStopResignsBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	set.Jobs = t.TempDir() + "/jobs.yaml"
	files.Replace(t, set.Jobs, files.Jobs("x", "filed"))
	var hangs atomic.Bool
	hung, release := make(chan struct{}), make(chan struct{})
	now := func() time.Time { // hangs once, when the goroutine of the job files calls it
		callers := make([]byte, 1<<16)
		if strings.Contains(string(callers[:runtime.Stack(callers, false)]), "jobfiles.(*Files).enforce(") && hangs.CompareAndSwap(true, false) {
			close(hung)
			<-release
		}
		return time.Now()
	}
	r := start(t, Config{Settings: set, Version: version, Now: now})
	r.lead(t)
	client, err := etcdconn.Dial(set.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })

	defer close(release)
	hangs.Store(true)
	files.Replace(t, set.Jobs, files.Jobs("y", "filed"))
	r.reload <- os.Signal(syscall.SIGHUP)
	select {
	case <-hung:
	case <-time.After(20 * time.Second):
		t.Fatal("the job files do not hang")
	}
	r.cancel()
	eventually(t, "it has resigned", func() bool {
		_, stands, err := election.Leader(t.Context(), client, set.Etcd.Prefix+"/election/")
		return err == nil && !stands
	})
}
