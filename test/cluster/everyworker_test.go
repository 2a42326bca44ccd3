package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestEveryWorker runs a job on every worker of a zone, beside a worker of another zone. The leader is killed while copies of a run
// have not ended. The judge then finds one copy for each worker of the zone and none elsewhere.
func TestEveryWorker(t *testing.T) {
	row(t)
	t.Parallel()
	zone := map[string]string{"zone": "a", job.EveryWorker: "true"}
	ledger := NewLedger(t)
	c := Start(t, Config{
		Binary: binary,
		Jobs: map[string]job.Spec{
			"sweep": {Every: job.Duration(time.Second), Workers: zone, Missed: job.MissedAll, Shell: ledger.Shell("sleep 0.3")},
		},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	c.AddWorker("w1", "--worker-labels=zone=a")
	c.AddWorker("w2", "--worker-labels=zone=a")
	c.AddWorker("w3", "--worker-labels=zone=b")
	both := func(is func(r *job.Run) bool) (n int) {
		for _, r := range c.Recorder.Runs("sweep") {
			if slices.Equal(r.Copies, []string{"w1", "w2"}) && is(&r) {
				n++
			}
		}
		return n
	}
	well := func(r *job.Run) bool { return r.State == job.Succeeded }
	underWay := func(r *job.Run) bool { return !r.State.Terminal() }
	Await(t, 60*time.Second, "slots run on both workers of the zone", func() bool { return both(well) >= 2 })
	Await(t, 60*time.Second, "copies are under way", func() bool { return both(underWay) > 0 })
	before := both(well)
	c.Leader().Kill()
	Await(t, 60*time.Second, "slots run on both workers under the next leader", func() bool { return both(well) >= before+3 })
	c.Check(ledger.Effects, nil, nil)
	c.Verify()
}
