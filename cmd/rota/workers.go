package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newWorkersCommand(c *cli) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use:     "workers",
		Short:   "List the workers of the cluster",
		Example: "  rota workers -o wide\n  rota workers --watch",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			if watch {
				return c.watchList(ctx, "gone", func(p *page) ([]any, []watchedRow, error) {
					workers, err := cl.Workers(ctx)
					header, rows := watchedRows(workerRows(p, workers), workers, func(w *api.WorkerView) string { return w.Name })
					return header, rows, err
				})
			}
			return show(c, func(ctx context.Context, cl *client.Client, _ []string) (api.WorkerList, error) {
				workers, err := cl.Workers(ctx)
				return api.WorkerList{Workers: append([]api.WorkerView{}, workers...)}, err // never null in JSON
			}, writeWorkers)(ctx, cl, args)
		}),
	}
	addWatch(cmd, &watch)
	return cmd
}

func writeWorkers(p *page, list *api.WorkerList) {
	if len(list.Workers) == 0 {
		p.line("no workers: the cluster cannot execute runs")
		return
	}
	p.table(workerRows(p, list.Workers))
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
	return rows
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, name+"="+labels[name])
	}
	return strings.Join(pairs, ",")
}
