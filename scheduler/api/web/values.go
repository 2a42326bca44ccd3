package web

import (
	"maps"
	"net/http"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// value is an input or an output of a run.
type value struct{ From, Link, Name, Text string }

// most inputs and outputs that a page shows, and how much of each.
const (
	shownValues  = 100
	shownParents = 20
)

// outputsOf lists what a run gives to the runs that follow it.
func outputsOf(v *api.RunView) (list []value) {
	for _, name := range slices.Sorted(maps.Keys(v.Outputs)) {
		list = append(list, value{Name: name, Text: v.Outputs[name]})
	}
	return list[:min(shownValues, len(list))]
}

// inputsOf lists what a run got from the runs that it follows.
func (s *site) inputsOf(r *http.Request, v *api.RunView) (list []value) {
	for i, parent := range v.After {
		if !parent.Outputs || i >= shownParents {
			continue
		}
		id := parent.ID
		if id == "" {
			id = v.ID
		}
		ref := parent.Job + "/" + id
		before, err := get[api.RunView](s, r, runPath(ref))
		if err != nil {
			continue // history no longer has it, or the client may not see it
		}
		for _, out := range outputsOf(&before) {
			out.From, out.Link = parent.Job, runLink(ref)
			list = append(list, out)
		}
	}
	return list[:min(shownValues, len(list))]
}
