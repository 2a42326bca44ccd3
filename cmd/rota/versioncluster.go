package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// skewView is the data that version --cluster prints.
type skewView struct {
	Client    string        `json:"client"`
	Processes []processView `json:"processes"`
	Skew      bool          `json:"skew"` // the processes have different versions
}

// processView is the version of one replica or worker.
type processView struct {
	Name    string `json:"name"`
	Role    string `json:"role"` // replica, worker, or both
	Leader  bool   `json:"leader,omitempty"`
	Version string `json:"version"`
}

// versionSkew asks the cluster for the versions of its processes.
func versionSkew(ctx context.Context, cl *client.Client, _ []string) (skewView, error) {
	cluster, err := cl.Cluster(ctx)
	if err != nil {
		return skewView{}, err
	}
	workers, err := cl.Workers(ctx)
	if err != nil {
		return skewView{}, err
	}
	return skewOf(node.BuiltVersion().Version, cluster.Replicas, workers), nil
}

// skewOf compares the versions of processes.
func skewOf(own string, replicas []api.ReplicaView, workers []api.WorkerView) skewView {
	v := skewView{Client: own, Processes: []processView{}}
	for _, r := range replicas {
		v.Processes = append(v.Processes, processView{Name: r.Name, Role: "replica", Leader: r.Leader, Version: r.Version})
	}
	for _, w := range workers {
		i := slices.IndexFunc(v.Processes, func(p processView) bool { return p.Name == w.Name && p.Version == w.Version })
		if i < 0 {
			v.Processes = append(v.Processes, processView{Name: w.Name, Role: "worker", Version: w.Version})
		} else if v.Processes[i].Role == "replica" {
			v.Processes[i].Role = "both"
		}
	}
	for _, p := range v.Processes {
		v.Skew = v.Skew || p.Version != v.Processes[0].Version
	}
	return v
}

func writeSkew(p *page, v *skewView) {
	rows := [][]any{{"NAME", "ROLE", "VERSION"}}
	for _, process := range v.Processes {
		role := process.Role
		if process.Leader {
			role += ", leads"
		}
		rows = append(rows, []any{process.Name, role, process.Version})
	}
	p.table(rows)
	switch {
	case v.Skew:
		fmt.Fprintln(p.out, "The processes have different versions: finish the upgrade, or roll it back.")
	case len(v.Processes) > 0 && v.Client != v.Processes[0].Version:
		fmt.Fprintf(p.out, "This command has another version: %s.\n", v.Client)
	case v.Client == node.DevelVersion:
		fmt.Fprintln(p.out, "They were built from sources without a version, so they may still differ.")
	default:
		fmt.Fprintln(p.out, "All have one version.")
	}
}
