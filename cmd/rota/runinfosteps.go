package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// followsText names the runs that r follows, with their ends: "load/2026-01-31T02:30:00Z (succeeded)".
func followsText(r *job.Run) string {
	parents := make([]string, len(r.After))
	for i := range r.After {
		a := &r.After[i]
		end := cmp.Or(string(a.State), "no run")
		switch {
		case a.State != "" || !r.Due.Equal(job.WhenParentsEnd):
		case r.AwaitsParents():
			end = "awaited"
		default: // the run was canceled first
			end = "not awaited"
		}
		parents[i] = a.Job + "/" + a.RunID(r) + " (" + end + ")"
	}
	return strings.Join(parents, ", ")
}

// outputRows returns table rows of what a run gives to the steps behind it.
func outputRows(p *page, outputs map[string]string) [][]any {
	rows := [][]any{{"OUTPUT", "VALUE"}}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		rows = append(rows, []any{name, p.shortened(outputs[name])})
	}
	return rows
}
