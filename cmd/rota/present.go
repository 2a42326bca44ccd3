package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/spf13/cobra"
)

func newWorkersCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "workers",
		Short:   "List the workers that are present",
		Example: "  rota workers -o wide",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.reader()
			if err != nil {
				return err
			}
			defer cl.Close()
			workers, err := cl.Workers(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(api.WorkerList{Workers: append([]api.WorkerView{}, workers...)}, func(p *page) { writeWorkers(p, workers) })
		},
	}
}

func writeWorkers(p *page, workers []api.WorkerView) {
	if len(workers) == 0 {
		p.line("no workers: nothing can run")
		return
	}
	header := []any{"NAME", tinted{"STATE", plain}, "RUNNING", "ARMED", "FREE", "CAPACITY", "STARTED"}
	if p.wide {
		header = append(header, "ADDRESS", "VERSION", "PID", "SESSION", "LIMITS", "HANDLERS")
	}
	rows := [][]any{append(header, "LABELS")}
	for i := range workers {
		w := &workers[i]
		state := tinted{"ready", green}
		switch {
		case w.Draining:
			state = tinted{"draining", yellow}
		case w.Free <= 0:
			state = tinted{"full", cyan}
		}
		row := []any{w.Name, state, w.Running, w.Armed, w.Free, w.Capacity, p.when(w.Started)}
		if p.wide {
			row = append(row, w.Addr, w.Version, w.PID, w.Session, strings.Join(w.Limits, ","), strings.Join(w.Handlers, ","))
		}
		rows = append(rows, append(row, labelText(w.Labels)))
	}
	p.table(rows)
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, name+"="+labels[name])
	}
	return strings.Join(pairs, ",")
}
