package web

import (
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// trend compares how long the latest runs of a job took with the runs before them.
type trend struct{ Text, Words string }

// A job has a trend if its latest trendRuns successful runs took trendRatio times as long as the runs before them, or the other way
// round. There must be at least as many runs before them.
const (
	trendRuns  = 5
	trendRatio = 1.25
)

// trendOf returns the trend of a job; nil if it has too few runs, or if it is steady. runs has the oldest first.
func trendOf(runs []api.RecentRun) *trend {
	var took []float64
	for i := range runs {
		if runs[i].State == job.Succeeded {
			took = append(took, runs[i].Seconds)
		}
	}
	if len(took) < 2*trendRuns {
		return nil
	}
	before, now := median(took[:len(took)-trendRuns]), median(took[len(took)-trendRuns:])
	switch {
	case now < 1 && before < 1: // too short to tell
		return nil
	case before > 0 && now >= before*trendRatio:
		return &trend{fmt.Sprintf("▲ %.0f %% longer", (now/before-1)*100), trendWords(before, now)}
	case now > 0 && before >= now*trendRatio:
		return &trend{fmt.Sprintf("▼ %.0f %% shorter", (1-now/before)*100), trendWords(before, now)}
	}
	return nil
}

func trendWords(before, now float64) string {
	const words = "The median of the latest %d successful runs is %s; before, it was %s"
	return fmt.Sprintf(words, trendRuns, secondsText(now), secondsText(before))
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
