package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestVersionSkew(t *testing.T) {
	replica := func(name, version string, leads bool) api.ReplicaView {
		return api.ReplicaView{Replica: job.Replica{Name: name, Version: version}, Leader: leads}
	}
	worker := func(name, version string) api.WorkerView {
		return api.WorkerView{Worker: job.Worker{Name: name, Version: version}}
	}
	for name, tc := range map[string]struct {
		own      string
		replicas []api.ReplicaView
		workers  []api.WorkerView
		want     []string
	}{
		"one version": {
			"v0.2.0", []api.ReplicaView{replica("q1", "v0.2.0", true)}, []api.WorkerView{worker("q1", "v0.2.0")},
			[]string{"q1     both, leads   v0.2.0", "All have one version."},
		},
		"in the middle of an upgrade": {
			"v0.2.0", []api.ReplicaView{replica("q1", "v0.1.0", true), replica("q2", "v0.2.0", false)}, nil,
			[]string{"q1     replica, leads   v0.1.0", "q2     replica          v0.2.0", "different versions"},
		},
		"a worker that was forgotten": {
			"v0.2.0", []api.ReplicaView{replica("q1", "v0.2.0", true)}, []api.WorkerView{worker("w1", "v0.1.0")},
			[]string{"w1     worker           v0.1.0", "different versions"},
		},
		"an older command": {
			"v0.1.0", []api.ReplicaView{replica("q1", "v0.2.0", true)}, nil, []string{"This command has another version: v0.1.0."},
		},
		"builds without a version": {
			node.DevelVersion, []api.ReplicaView{replica("q1", node.DevelVersion, true)}, nil, []string{"they may still differ"},
		},
	} {
		v := skewOf(tc.own, tc.replicas, tc.workers)
		var out bytes.Buffer
		writeSkew(&page{out: &out}, &v)
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, out.String())
			}
		}
	}
}
