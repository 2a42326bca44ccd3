package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// steady is longer than etcd refuses to remove a member of a young cluster.
const steady = 8 * time.Second

// TestAReplicaThatLeavesDrainsFirst takes a replica with an attempt out of the list. It finishes the attempt before it leaves the
// cluster. Otherwise the outcome would stay on its disk, which no process reads again.
func TestAReplicaThatLeavesDrainsFirst(t *testing.T) {
	var list string
	var sets []config.Settings
	for i := range 3 {
		set := settings(t, fmt.Sprintf("q%d", i+1))
		set.Worker.Enabled = i == 2
		set.Worker.ShutdownGrace *= 20
		list += fmt.Sprintf("%s=%s,", set.Node.Name, set.Etcd.Embedded.Peer)
		sets = append(sets, set)
	}
	var listed atomic.Pointer[string]
	without := list[:len(list)-len(fmt.Sprintf("q3=%s,", sets[2].Etcd.Embedded.Peer))-1]
	list = list[:len(list)-1]
	listed.Store(&list)
	var nodes []*running
	for _, set := range sets {
		set.Etcd.Embedded.Cluster, set.Etcd.Embedded.Rejoin = list, config.RejoinAuto
		nodes = append(nodes, launch(t, Config{Settings: set, Version: version, Members: func() string { return *listed.Load() }}))
	}
	for _, r := range nodes {
		r.node = <-r.up
		eventually(t, "the node is ready", func() bool {
			_, ok, err := r.Ready(t.Context())
			return err == nil && ok
		})
	}
	stays, leaves := nodes[0], nodes[2]
	done := filepath.Join(t.TempDir(), "done")
	stays.put(t, "pay", job.Spec{Shell: "until [ -e " + done + " ]; do sleep 0.1; done", Delivery: job.AtMostOnce})
	v := stays.submit(t, "pay", api.RunRequest{})
	eventually(t, "the run runs", func() bool {
		now, err := stays.Run(t.Context(), v.Ref)
		return err == nil && now.State == job.Running
	})
	listed.Store(&without)
	eventually(t, "its worker drains", func() bool {
		workers, err := stays.Workers(t.Context())
		return err == nil && slices.ContainsFunc(workers, func(w api.WorkerView) bool { return w.Name == "q3" && w.Draining })
	})
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(steady); time.Now().Before(end); <-poll.C {
		if n := stays.node.conn.Members(); n != 3 {
			t.Fatalf("got %d members while the attempt goes on, want 3", n)
		}
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leaves.stopped(t, "no longer lists q3")
	stays.ends(t, v.Ref, job.Succeeded)
	if n := stays.node.conn.Members(); n != 2 {
		t.Errorf("got %d members, want 2", n)
	}
}
