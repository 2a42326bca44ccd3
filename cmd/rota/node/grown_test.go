package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A replica that was the only member at its start has another one now. If both are stopped at once, it stays until the other one has
// drained, which needs its vote.
func TestAReplicaThatHasGrownStaysForTheOther(t *testing.T) {
	t.Parallel()
	first, second := settings(t, "q1"), settings(t, "q2")
	first.Worker.Enabled = false
	first.Worker.ShutdownGrace, second.Worker.ShutdownGrace = time.Minute, time.Minute
	if err := start(t, Config{Settings: first, Version: version}).end(); err != nil {
		t.Fatal(err)
	}
	list := "q1=" + first.Etcd.Embedded.Peer + ",q2=" + second.Etcd.Embedded.Peer
	for _, set := range []*config.Settings{&first, &second} {
		set.Etcd.Embedded.Cluster, set.Etcd.Embedded.Rejoin = list, config.RejoinAuto
	}
	stays := start(t, Config{Settings: first, Version: version})
	drains := start(t, Config{Settings: second, Version: version})
	done := filepath.Join(t.TempDir(), "done")
	stays.put(t, "pay", job.Spec{Shell: "until [ -e " + done + " ]; do sleep 0.1; done"})
	v := stays.submit(t, "pay", api.RunRequest{})
	eventually(t, "the run runs", func() bool {
		now, err := stays.Run(t.Context(), v.Ref)
		return err == nil && now.State == job.Running
	})
	stays.cancel()
	drains.cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(6 * stayLeast); time.Now().Before(end); <-poll.C {
		if len(stays.ended)+len(drains.ended) > 0 {
			t.Error("a replica has left while the attempt goes on")
			break
		}
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*running{stays, drains} {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	}
}
