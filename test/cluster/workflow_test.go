package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// The workflows of TestWorkflowsUnderKills.
const (
	workflowPeriod = 5 * time.Second // between two slots of each workflow
	fanWidth       = 50
	chainLength    = 10
)

// workflows returns a diamond, a fan, a chain, a step with two jobs without parents, a failure branch, and a step that waits for a
// person. Steps pass outputs on. A step ends with code 9 if it did not get the outputs of its parents. Steps without outputs send
// requests, since shells would take most of the machine.
func workflows(ledger *Ledger, sink *Sink, end time.Time) map[string]job.Spec {
	does := func(script string) job.Spec {
		if script == "" {
			return job.Spec{HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Overlap: job.OverlapAllow}
		}
		return job.Spec{Shell: ledger.Shell(script), Overlap: job.OverlapAllow}
	}
	root := func(script string) job.Spec {
		s := does(script)
		s.Every, s.End, s.Missed, s.MissedLimit = job.Duration(workflowPeriod), &end, job.MissedAll, 1000
		return s
	}
	step := func(script string, after ...job.After) job.Spec {
		s := does(script)
		s.After = after
		return s
	}
	const (
		tell  = `printf 'slot=%s\ntoken=%s\n' "$ROTA_SLOT" "$ROTA_FENCING_TOKEN" > "$ROTA_OUTPUT"`
		check = `[ "$ROTA_INPUT_%[1]s_SLOT" = "$ROTA_SLOT" ] || exit 9; `
		pass  = `[ "$ROTA_INPUT_LEFT_SLOT$ROTA_INPUT_RIGHT_SLOT" = "$ROTA_SLOT$ROTA_SLOT" ] || exit 9; ` +
			`printf 'left=%s\nright=%s\n' "$ROTA_INPUT_LEFT_TOKEN" "$ROTA_INPUT_RIGHT_TOKEN" > "$ROTA_OUTPUT"`
	)
	specs := map[string]job.Spec{
		"extract": root(tell),
		"left":    step(fmt.Sprintf(check, "EXTRACT")+tell, job.After{Job: "extract"}),
		"right":   step(fmt.Sprintf(check, "EXTRACT")+"sleep 2; "+tell, job.After{Job: "extract"}),
		"join":    step(pass, job.After{Job: "left"}, job.After{Job: "right"}),

		"orders": root(tell), "stock": root("sleep 0.5; " + tell),
		"match": step(fmt.Sprintf(check, "ORDERS")+fmt.Sprintf(check, "STOCK")+"true", job.After{Job: "orders"}, job.After{Job: "stock"}),

		"flaky": root(`case "$ROTA_SLOT" in *0Z) exit 3;; esac`),
		"fine":  step("", job.After{Job: "flaky"}), "alarm": step("", job.After{Job: "flaky", When: job.WhenFailure}),
		"clean": step("", job.After{Job: "fine", When: job.WhenDone}),

		"build": root(""), "deploy": step("", job.After{Job: "build"}), "announce": step("", job.After{Job: "deploy"}),
		"beside": step("", job.After{Job: "build"}), // runs while deploy waits

		"c0": root(`echo n=0 > "$ROTA_OUTPUT"`),
	}
	deploy := specs["deploy"]
	deploy.Approve = &job.Approve{Within: job.Duration(2 * workflowPeriod)}
	specs["deploy"] = deploy
	var fan []job.After
	for i := range fanWidth {
		name := fmt.Sprintf("fan-%d", i)
		specs[name] = step("", job.After{Job: "c0"})
		fan = append(fan, job.After{Job: name, When: job.WhenDone})
	}
	specs["gather"] = step("", fan...)
	for i := range chainLength {
		add := fmt.Sprintf(`echo n=$((ROTA_INPUT_C%d_N + 1)) > "$ROTA_OUTPUT"`, i)
		specs[fmt.Sprintf("c%d", i+1)] = step(add, job.After{Job: fmt.Sprintf("c%d", i)})
	}
	return specs
}

// TestWorkflowsUnderKills runs each workflow for ROTA_WORKFLOW_ROUNDS slots, 8 by default. Meanwhile the leader and the workers are
// killed, and their links to the store are cut. The judge then checks that each step ran once for each slot, after its parents, as
// their ends allow.
func TestWorkflowsUnderKills(t *testing.T) {
	slow(t)
	t.Parallel()
	const patience = 3 * time.Minute
	rounds := fromEnv("ROTA_WORKFLOW_ROUNDS", 8)
	ledger, sink := NewLedger(t), NewSink(t)
	c, links := startBehindLinks(t, "w1", "w2", "w3")
	// The first two slots may pass before the jobs are known.
	end := time.Now().Add(time.Duration(rounds+2) * workflowPeriod).UTC().Truncate(workflowPeriod)
	c.define(workflows(ledger, sink, end))

	random := seeded(t)
	v := newVoters(c, "ann", "olga")
	var wg sync.WaitGroup
	v.decideOn(t.Context(), &wg, random)
	faults := &linkFaults{c: c, links: links, random: random, work: "right", end: end}
	for time.Now().Before(end) {
		faults.next()
	}
	c.AwaitEnd(patience)
	Await(t, patience, "every step is decided", func() bool { return c.undecidedSteps() == 0 && len(c.live()) == 0 })
	c.Judge(append(sink.Requests(), ledger.Effects()...), nil, func(j *history.Job) { j.MayFail = j.Name == "flaky" })
	if out, code := Command(t, binary, "verify", "--all-changes", "--endpoints="+strings.Join(c.Endpoints(), ",")); code != 0 {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
	c.checkWorkflows(t, rounds)
	faults.check(t)
	if seen, _ := v.check(t); seen["approved"] == 0 || rounds >= 20 && (seen["rejected"] == 0 || seen["expired"] == 0) {
		t.Errorf("decisions of people: %v, want some of each kind", seen)
	}
}

// checkWorkflows checks that each job has at least so many runs. Steps must have got the outputs of the attempts that succeeded, and
// both kinds of ends must have occurred.
func (c *Cluster) checkWorkflows(t *testing.T, rounds int) {
	t.Helper()
	ends := map[string]map[job.State]int{}
	for name := range c.cfg.Jobs {
		ends[name] = map[job.State]int{}
		runs := c.Recorder.Runs(name)
		for _, r := range runs {
			ends[name][r.State]++
		}
		if len(runs) < rounds {
			t.Errorf("job %s has %d runs, want at least %d", name, len(runs), rounds)
		}
	}
	for id, r := range c.Recorder.Runs("join") {
		for _, parent := range []string{"left", "right"} {
			of := c.Recorder.Runs(parent)[id]
			if got := r.Outputs[parent]; r.State == job.Succeeded && got != strconv.FormatInt(of.Token, 10) {
				t.Errorf("%s got the output of token %s, and %s succeeded with token %d", r.Name(), got, of.Name(), of.Token)
			}
		}
	}
	last := fmt.Sprintf("c%d", chainLength)
	for _, r := range c.Recorder.Runs(last) {
		if r.State == job.Succeeded && r.Outputs["n"] != strconv.Itoa(chainLength) {
			t.Errorf("%s has the outputs %v, want n=%d", r.Name(), r.Outputs, chainLength)
		}
	}
	for _, name := range []string{"join", "match", "gather", "fine", "alarm", "clean", "beside", last} {
		if ends[name][job.Succeeded] == 0 {
			t.Errorf("no run of %s succeeded: %v", name, ends[name])
		}
	}
	if ends["fine"][job.Skipped] == 0 || ends["alarm"][job.Skipped] == 0 {
		t.Errorf("fine and alarm must be skipped sometimes: %v, %v", ends["fine"], ends["alarm"])
	}
	t.Logf("%d slots of each workflow, %d runs; joins: %v, deployments: %v",
		len(c.Recorder.Runs("join")), len(c.Recorder.Runs("")), ends["join"], ends["deploy"])
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
