package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// runsText returns how many runs have not ended, by state.
func runsText(c *api.RunCounts) string {
	text := fmt.Sprintf("%d scheduled, %d waiting", c.Scheduled, c.Waiting)
	var reasons []string
	for _, what := range slices.Sorted(maps.Keys(c.Reasons)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", printable(what), c.Reasons[what]))
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text + fmt.Sprintf(", %d armed, %d running, %d retrying", c.Armed, c.Running, c.Retrying)
}

// outcomesText returns how many runs ended, by outcome.
func outcomesText(ended map[job.State]int) string {
	var parts []string
	for _, state := range job.States() {
		if n := ended[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no run ended")
}
