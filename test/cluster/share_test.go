package cluster

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestIdleReplicasShareTheLoad runs a job each second on three idle replicas. None of them gets more than half of the runs.
func TestIdleReplicasShareTheLoad(t *testing.T) {
	slow(t)
	t.Parallel()
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"tick": {Every: job.Duration(time.Second), Shell: "true"}}})
	Await(t, 20*time.Second, "all workers are present", func() bool {
		list, err := c.Client.Workers(t.Context())
		return err == nil && len(list) == 3
	})
	begin := time.Now()
	shares := func() (by map[string]int, all int) {
		by = map[string]int{}
		for _, r := range c.Recorder.Runs("tick") {
			if r.State == job.Succeeded && r.Slot.After(begin) {
				by[r.Worker]++
				all++
			}
		}
		return by, all
	}
	Await(t, time.Minute, "twenty runs have ended", func() bool { _, all := shares(); return all >= 20 })
	by, all := shares()
	for worker, n := range by {
		if 2*n > all {
			t.Errorf("%s got %d of %d runs: %v", worker, n, all, by)
		}
	}
}
