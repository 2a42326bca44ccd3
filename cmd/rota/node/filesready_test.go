package node

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/test/files"
)

// TestWhatIsReadyHasItsJobs submits a run of a new job as soon as a start or a reload is reported to be over, as
// `systemctl restart rota && rota run new` does.
func TestWhatIsReadyHasItsJobs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	set := outside(t, "q1", etcd(t))
	set.Jobs, set.Worker.Enabled = file, false
	files.Replace(t, file, files.Jobs("x", "job0"))
	reloaded := make(chan struct{}, 1)
	r := begin(t, Config{Settings: set, Version: version, Reloaded: func() { reloaded <- struct{}{} }})
	r.submit(t, "job0", api.RunRequest{})

	for n := 1; n < 5; n++ {
		name := fmt.Sprintf("job%d", n)
		files.Replace(t, file, files.Jobs("x", "job0", name))
		r.reload <- syscall.SIGHUP
		select {
		case <-reloaded:
		case <-time.After(20 * time.Second):
			t.Fatal("the reload does not end")
		}
		r.submit(t, name, api.RunRequest{})
	}
}
