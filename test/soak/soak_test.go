package soak

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

var (
	length = flag.Duration("for", 0, "how long to harm the cluster; 0: not at all")
	seeded = flag.Uint64("seed", 0, "of all that is left to chance; 0: another one each time")
)

const (
	minLength = time.Minute
	ahead     = 20 * time.Second // the longest start of a cluster with this many jobs
	calm      = 20 * time.Second // time without faults before the schedules end
	quiet     = 3 * time.Minute  // the longest time for everything to end after that
	complete  = 8 * time.Minute  // from this length on, every kind of fault must occur
	minRate   = 50               // runs a second
	maxLate   = lease            // lateness of 99 in 100 slots without a fault near them
)

// TestSoak is what `make soak` runs.
func TestSoak(t *testing.T) {
	if *length == 0 {
		t.Skip("runs as long as FOR says: make soak FOR=10m")
	}
	if *length < minLength {
		t.Fatalf("-for=%v: at least %v, or nothing comes of it", *length, minLength)
	}
	seed := *seeded
	if seed == 0 {
		seed = rand.Uint64N(1e9) + 1
	}
	t.Logf("seed %d", seed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("FAILED; again: make soak FOR=%v SEED=%d", *length, seed)
		}
	})
	chance := func(of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) }

	rota, err := cluster.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sink, ledger := cluster.NewSink(t), cluster.NewLedger(t)
	sink.AnswerBy(answer(seed))
	end := time.Now().Add(ahead + *length).Truncate(time.Second)
	jobs := load(chance(3<<32), sink, ledger, end)
	c := cluster.Start(t, cluster.Config{Binary: rota, Jobs: jobs, Limits: limits, Flags: func(string) []string {
		return []string{"--history-success=50", "--worker-capacity=200"}
	}})
	workers := []*cluster.Node{c.AddWorker("w1", "--worker-capacity=200"), c.AddWorker("w2", "--worker-capacity=200")}
	began := time.Now()

	n := &nemesis{
		t: t, c: c, seed: seed, etcd: cluster.Dial(t, c.Endpoints()), workers: workers,
		made: make(map[string]int), byHand: make(map[string]bool),
	}
	e := &editor{t: t, c: c, rng: chance(1 << 32), sink: sink, end: end, jobs: maps.Clone(jobs), ever: maps.Clone(jobs), removed: make(map[string]time.Time)}
	s := &submitter{t: t, c: c, rng: chance(2 << 32), seed: seed, got: make(map[string]string), asked: make(map[string]bool)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { e.run(ctx) })
	wg.Go(func() { s.run(ctx) })
	n.run(end.Add(-calm))
	stop()
	wg.Wait()

	edits := e.check()
	// The load lasts until end, which the operator chose. There is no condition to poll.
	time.Sleep(time.Until(end))
	if !cluster.Within(quiet, func() bool { return len(undecided(c, e.jobs)) == 0 && len(c.Recorder.Open()) == 0 }) {
		open := c.Recorder.Open()
		t.Errorf("after %v of quiet, %d jobs have slots to decide and %d runs have not ended: %.500s; %.1000s", quiet,
			len(undecided(c, e.jobs)), len(open), fmt.Sprint(undecided(c, e.jobs)), fmt.Sprint(open))
	}
	c.Recorder.Sync()
	judge(t, rota, c, n, e, append(sink.Requests(), ledger.Effects()...), []string{edits, s.check()}, end.Sub(began))
}

// judge compares the records with the promises, and reports.
func judge(t *testing.T, rota string, c *cluster.Cluster, n *nemesis, e *editor, effects []history.Effect, said []string, took time.Duration) {
	h := history.History{
		Prefix: cluster.Prefix, Versions: c.Recorder.Versions(), Effects: effects, Faults: c.Faults(), ByHand: n.byHand,
		Jobs: cluster.Expectations(e.ever, func(j *history.Job) {
			j.Edited = strings.HasPrefix(j.Name, "edit-")
			j.MayFail = j.Edited || strings.HasPrefix(j.Name, "flaky-")
		}),
	}
	v := history.Judge(h)
	const most = 40
	for _, found := range v.Violations[:min(len(v.Violations), most)] {
		t.Errorf("%v", found)
	}
	verified, code := cluster.Command(t, rota, "verify", "--all-changes", "--endpoints="+strings.Join(c.Endpoints(), ","))
	if code != 0 {
		t.Errorf("rota verify ended with %d: %s", code, verified)
	}
	if v.Runs < minRate*int(took.Seconds()) {
		t.Errorf("%d runs in %v: the load was too low", v.Runs, took)
	}
	if v.Doubles == 0 {
		t.Error("no fault cost an attempt its worker: they took no effect")
	}
	faults := n.faults()
	for _, f := range faults {
		if n.made[f.name] == 0 && *length >= complete {
			t.Errorf("%s: never made", f.name)
		}
	}
	holders := held(t, c.Recorder.Versions())
	l := measure(t, effects, n.windows)
	if late := quantile(l.outside, 0.99); late > maxLate {
		t.Errorf("one slot in a hundred is later than %v, with no fault near it", late)
	}
	counts := byRule(v.Violations)
	report := []string{
		fmt.Sprintf("faults, each of which took effect: %d of %d kinds%s", len(n.made), len(faults), harm(n.made, l)),
	}
	report = append(report, said...)
	report = append(report,
		fmt.Sprintf("%d slots checked, %d runs, %d attempts, %d executions seen, %d revisions of records", v.Slots, v.Runs, v.Attempts,
			len(effects), len(c.Recorder.Versions())),
		"late outside faults: "+quantiles(l.outside)+": "+l.worst,
		"late inside faults:  "+quantiles(l.inside),
		fmt.Sprintf("missed %d, extra %d, doubles explained by faults %d, not explained %d", counts[history.RuleMissed],
			counts[history.RuleExtra], v.Doubles, counts[history.RuleDouble]),
		holders,
		v.String(),
		fmt.Sprintf("promises broken: %d%s", len(v.Violations), tally(counts)),
		"rota verify: "+strings.TrimSpace(verified))
	t.Log(strings.Join(report, "\n"))
	if t.Failed() {
		t.Logf("records, effects, logs and a picture are in %s", keep(t, c, slices.Concat(c.Replicas(), n.workers), h, v))
	}
}
