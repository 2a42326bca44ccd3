package cluster

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// workflowRounds returns how often TestWorkflowsUnderKills kills a process.
func workflowRounds(t *testing.T) int {
	t.Helper()
	if s := os.Getenv("ROTA_WORKFLOW_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("ROTA_WORKFLOW_ROUNDS=%s: write a number, at least 1", s)
		}
		return n
	}
	return 6
}

// TestWorkflowsUnderKills runs a diamond, a fan, a chain and a failure branch, while the leader and other replicas are killed. Each
// replica also works. The judge then checks that each step ran once for each slot, after its parents, as their ends allow.
func TestWorkflowsUnderKills(t *testing.T) {
	slow(t)
	t.Parallel()
	const period, patience = 5 * time.Second, 2 * time.Minute
	rounds := workflowRounds(t)
	ledger := NewLedger(t)
	end := time.Now().Add(time.Duration(rounds)*period + 30*time.Second).UTC().Truncate(time.Second)
	root := func(script string) job.Spec {
		return job.Spec{Shell: ledger.Shell(script), Every: job.Duration(2 * time.Second), End: &end, Missed: job.MissedAll, MissedLimit: 1000}
	}
	step := func(script string, after ...job.After) job.Spec {
		return job.Spec{Shell: ledger.Shell(script), After: after}
	}
	specs := map[string]job.Spec{
		"extract": root("true"), "left": step("sleep 0.3", job.After{Job: "extract"}), "right": step("true", job.After{Job: "extract"}),
		"join":  step("true", job.After{Job: "left"}, job.After{Job: "right"}),
		"flaky": root(`case "$ROTA_SLOT" in *[048]Z) exit 3;; esac`),
		"fine":  step("true", job.After{Job: "flaky"}), "alarm": step("true", job.After{Job: "flaky", When: job.WhenFailure}),
		"clean": step("true", job.After{Job: "fine", When: job.WhenDone}),
		"c0":    root("true"),
	}
	var fan []job.After
	for i := range 8 {
		name := fmt.Sprintf("fan-%d", i)
		specs[name] = step("true", job.After{Job: "c0"})
		fan = append(fan, job.After{Job: name, When: job.WhenDone})
		specs[fmt.Sprintf("c%d", i+1)] = step("true", job.After{Job: fmt.Sprintf("c%d", i)})
	}
	specs["gather"] = step("true", fan...)
	c := Start(t, Config{Binary: binary, Jobs: specs})

	random := seeded(t)
	for round := range rounds {
		Let(period)
		n := c.Replicas()[random.IntN(3)]
		if leader := c.Leader(); round%2 == 0 && leader != nil {
			n = leader
		}
		n.Kill()
		n.Start()
		n.WaitReady()
	}
	c.AwaitEnd(time.Until(end) + patience)
	Await(t, patience, "every step is decided", func() bool { return c.undecidedSteps() == 0 && len(c.live()) == 0 })
	c.Judge(ledger.Effects(), nil, func(j *history.Job) { j.MayFail = j.Name == "flaky" })
	if n := len(c.Recorder.Runs("join")); n < rounds {
		t.Errorf("job join has %d runs: the test did not reach its steps", n)
	}
}

// undecidedSteps counts the slots of steps that have no run although a parent has one.
func (c *Cluster) undecidedSteps() (n int) {
	c.Recorder.Sync()
	for name, spec := range c.cfg.Jobs {
		own := c.Recorder.Runs(name)
		for _, a := range spec.After {
			for id := range c.Recorder.Runs(a.Job) {
				if _, decided := own[id]; !decided {
					n++
				}
			}
		}
	}
	return n
}
