package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// Slots are left out for which a step may have had a run: those since its creation that its parent's record does not tell about.
func TestStepsBackfillable(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 10, hour, 0, 0, 0, time.UTC) }
	root := &job.Job{Name: "extract", Created: at(6), Since: at(6), SinceGeneration: 1}
	step := func(created, since int, generation int64) *job.Job {
		return &job.Job{Name: "load", Created: at(created), Since: at(since), SinceGeneration: generation}
	}
	all := []job.SlotRange{{From: at(0), To: at(12)}}
	for name, c := range map[string]struct {
		step *job.Job
		want []job.SlotRange
	}{
		"a step that is younger than the job":  {step(7, 7, 1), all},
		"a step that is as old as the job":     {step(6, 6, 1), all},
		"a step that is older than the job":    {step(3, 3, 1), []job.SlotRange{{From: at(0), To: at(3).Add(-1)}, {From: at(6).Add(1), To: at(12)}}},
		"a step that had a schedule of itself": {step(3, 8, 2), []job.SlotRange{{From: at(8).Add(1), To: at(12)}}},
	} {
		if got := policy.StepsBackfillable(all, root, []*job.Job{c.step}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
