package main

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newWorkersCommand(c *cli) *cobra.Command {
	return newNamedListCommand(c, &cobra.Command{
		Use:               "workers [NAME...]",
		Short:             "List the workers of the cluster",
		Example:           "  rota workers -o wide\n  rota workers --watch",
		ValidArgsFunction: c.completeWorkers,
	}, namedList[api.WorkerView]{
		kind: "worker", gone: "gone", empty: "no workers: the cluster cannot execute runs",
		read: (*client.Client).Workers,
		name: func(w *api.WorkerView) string { return w.Name },
		list: func(workers []api.WorkerView) any { return api.WorkerList{Workers: workers} },
		rows: workerRows,
	})
}

// workerRows returns the table of workers with its header.
func workerRows(p *page, workers []api.WorkerView) [][]any {
	header := []any{"NAME", tinted{"STATE", plain}, "RUNNING", "ARMED", "FREE", "CAPACITY", "STARTED"}
	if p.wide {
		header = append(header, "ADDRESS", "VERSION", "PID", "SESSION", "LIMITS", "HANDLERS")
	}
	rows := [][]any{append(header, "LABELS")}
	for i := range workers {
		w := &workers[i]
		state := tinted{"ready", green}
		switch {
		case w.Broken != "":
			state = tinted{"broken", red}
		case w.Pressure != "":
			state = tinted{"pressure", yellow}
		case w.Draining:
			state = tinted{"draining", yellow}
		case len(w.Away) > 0:
			state = tinted{w.AwayText(), yellow}
		case w.Free <= 0:
			state = tinted{"full", cyan}
		}
		row := []any{w.Name, state, w.Running, w.Armed, w.Free, w.Capacity, p.when(w.Started)}
		if p.wide {
			row = append(row, w.Addr, w.Version, w.PID, w.Session, strings.Join(w.Limits, ","), strings.Join(w.Handlers, ","))
		}
		rows = append(rows, append(row, labelsText(w.Labels)))
	}
	return rows
}
