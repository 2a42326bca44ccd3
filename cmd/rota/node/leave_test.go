package node

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

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
	stays.put(t, "pay", job.Spec{Shell: "sleep 4", Delivery: job.AtMostOnce})
	v := stays.submit(t, "pay", api.RunRequest{})
	eventually(t, "the run runs", func() bool {
		now, err := stays.Run(t.Context(), v.Ref)
		return err == nil && now.State == job.Running
	})
	listed.Store(&without)
	eventually(t, "the member has left", func() bool { return stays.node.conn.Members() == 2 })
	left := time.Now()
	leaves.stopped(t, "no longer lists q3")
	stays.ends(t, v.Ref, job.Succeeded)
	if now, err := stays.Run(t.Context(), v.Ref); err != nil || now.Finished.After(left) {
		t.Errorf("the member left at %v, before the end of its attempt at %v (%v)", left, now.Finished, err)
	}
}
