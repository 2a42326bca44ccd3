package planner_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

var (
	simSeeds = flag.Int("sim.seeds", simDefault(simulations), "number of simulations (ROTA_SIM_SEEDS)")
	simSeed  = flag.Int64("sim.seed", -1, "run only this seed, and log what happens")
)

func simDefault(n int) int {
	if v, err := strconv.Atoi(os.Getenv("ROTA_SIM_SEEDS")); err == nil {
		return v
	}
	return n
}

// TestSimulation disturbs replicas, workers and clients for some minutes, heals everything, and checks the whole history of
// the store.
func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		simulate(t, uint64(*simSeed), true)
		return
	}
	for seed := range *simSeeds {
		if !simulate(t, uint64(seed), false) {
			t.Fatalf("reproduce with: go test ./scheduler/planner -run Simulation -sim.seed=%d", seed)
		}
	}
}

func simulate(t *testing.T, seed uint64, verbose bool) bool {
	w := newSim(seed, func(format string, args ...any) {
		if verbose {
			t.Logf(format, args...)
		}
	})
	w.storm(time.Duration(2+w.n(6)) * time.Minute)
	w.heal()
	for _, err := range w.check.verify(w) {
		t.Errorf("seed %d: %v", seed, err)
	}
	return !t.Failed()
}

const (
	simLease = 5 * time.Second // the lease of workers; WorkerTTL has its default
	simLag   = 1500 * time.Millisecond
)

// sim is the simulated cluster of one seed.
type sim struct {
	*rand.Rand
	now      time.Time
	place    simPlace
	store    *fakeStore
	replicas []*simReplica
	workers  []*simWorker
	jobs     []string
	ids      int
	ahead    time.Duration // ArmAhead of the replicas
	roomy    bool          // workers have room for all runs
	healed   bool          // nothing goes wrong any more
	end      time.Time     // what is due until then can end before the simulation does
	electAt  time.Time
	leader   *simReplica // nil: no replica leads
	check    *checker
	log      func(format string, args ...any)
	checked  int                // how many changes of the log are checked
	broken   map[string]job.Job // definitions that were overwritten with garbage
	garbled  garbled            // other records that were
	tampered map[string]bool    // jobs whose cursor was changed by hand
	flow     *flow              // nil: there is no workflow
}

func newSim(seed uint64, log func(string, ...any)) *sim {
	w := &sim{
		Rand: rand.New(rand.NewPCG(seed, 1)), store: newFakeStore(),
		broken: make(map[string]job.Job), tampered: make(map[string]bool),
	}
	w.log = func(format string, args ...any) {
		log(w.now.Format("15:04:05.000 ")+format, args...)
	}
	w.settle()
	w.roomy = w.chance(0.8)
	w.ahead = []time.Duration{0, 300 * time.Millisecond, 2 * time.Second, 10 * time.Second}[w.n(4)]
	w.check = newChecker(w)
	w.store.onCommit = w.check.decision
	var keep planner.Retention
	if w.chance(0.2) {
		keep = planner.Retention{Success: 5, Failed: 5, MaxAge: 2 * time.Minute}
	}
	for i := range 1 + w.n(3) {
		w.replicas = append(w.replicas, &simReplica{
			sim: w, name: fmt.Sprintf("r%d", i), keep: keep, offset: w.offset(),
		})
	}
	for i := range 1 + w.n(4) {
		w.workers = append(w.workers, &simWorker{
			sim: w, name: fmt.Sprintf("w%d", i), offset: w.offset(), wrong: wrongClocks[w.n(len(wrongClocks))], suits: w.suits(i),
		})
	}
	w.defineJobs()
	return w
}

func (w *sim) n(n int) int { return w.IntN(n) }

func (w *sim) chance(p float64) bool { return w.Float64() < p }

func (w *sim) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d) + 1)) }

// simOffset is how far a clock may be off.
const simOffset = 200 * time.Millisecond

// wrongClocks are errors of the clocks that workers write into records.
var wrongClocks = []time.Duration{0, 0, 0, 0, 45 * time.Second, -45 * time.Second, 24 * time.Hour, -24 * time.Hour}

func (w *sim) offset() time.Duration { return w.upTo(2*simOffset) - simOffset }

// storm lets the time d pass with faults.
func (w *sim) storm(d time.Duration) {
	w.end = w.now.Add(d + 2*time.Minute)
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(20*time.Millisecond + w.upTo(400*time.Millisecond))
		w.disturb()
		w.step()
	}
}

// healing is how long heal takes.
const healing = 4 * time.Minute

// heal repairs everything and gives the cluster time to catch up.
func (w *sim) heal() {
	w.healed = true
	w.log("everything is healed")
	w.repair()
	w.clean()
	w.defineLimits()
	w.resumeAll()
	for _, r := range w.replicas {
		r.up()
	}
	for _, x := range w.workers {
		x.revive()
	}
	for end := w.now.Add(healing); w.now.Before(end); {
		w.now = w.now.Add(500 * time.Millisecond)
		w.step()
	}
}

// step lets all processes act once.
func (w *sim) step() {
	for _, x := range w.workers {
		x.step()
	}
	if w.healed {
		w.approve()
	}
	w.election()
	for _, r := range w.replicas {
		r.step()
	}
	for ; w.checked < len(w.store.log); w.checked++ {
		c := w.store.log[w.checked]
		w.check.change(c)
		if r := job.ValueOf[job.Run](c); r != nil {
			w.log("%d %s", c.Rev, describe(r))
		}
	}
}

// election lets a replica win if none leads.
func (w *sim) election() {
	if w.leader != nil && w.leader.planner == nil {
		w.endTerm()
	}
	if w.leader != nil || w.now.Before(w.electAt) {
		return
	}
	r := w.replicas[w.n(len(w.replicas))]
	if r.planner == nil || r.zombie > 0 {
		return
	}
	w.store.term++
	w.store.rev++
	w.leader, r.term = r, w.store.term
	r.catchUp(len(w.store.log)) // everything in the store when the term is won
	r.planner.Lead(r.clock())
	w.log("%s leads term %d", r.name, r.term)
}

// endTerm ends the present term. The next one starts some time later.
func (w *sim) endTerm() {
	w.leader = nil
	w.electAt = w.now.Add(w.upTo(200 * time.Millisecond))
	if !w.healed && w.chance(0.5) {
		w.electAt = w.now.Add(w.upTo(40 * time.Second))
	}
}

// disturb causes faults at random.
func (w *sim) disturb() {
	if w.leader != nil && w.chance(0.01) {
		r := w.leader
		w.endTerm()
		switch w.n(4) {
		case 0, 1:
			r.down()
		case 2:
			r.zombie = 1 + w.n(20) // the replica has not noticed the end of its term, and continues to write
			w.store.term++         // a term without decisions
		default:
			r.depose()
		}
	}
	for _, r := range w.replicas {
		switch {
		case r.planner == nil && w.chance(0.05):
			r.up()
		case r.planner != nil && r != w.leader && w.chance(0.003):
			r.down()
		case r.planner != nil && w.chance(0.01):
			r.relist()
		case w.chance(0.002): // the clock of the replica is set
			r.offset = w.offset()
		}
	}
	for _, x := range w.workers {
		if x.session == "" {
			if w.chance(0.03) {
				x.revive()
			}
			continue
		}
		switch w.n(250) {
		case 0:
			x.die()
		case 1:
			if !x.back.IsZero() {
				continue
			}
			x.pausedTill = w.now.Add(w.upTo(12 * time.Second))
		case 2, 3:
			x.drain()
		}
	}
	if w.chance(0.001) {
		for _, x := range w.workers {
			x.evict()
		}
	}
	if w.chance(0.08) {
		w.operate()
	}
	if w.flow != nil && w.chance(0.15) {
		w.operateFlow()
	}
	if w.chance(0.01) {
		w.changeLimit()
	}
	if w.chance(0.01) {
		w.retry()
	}
	if w.chance(0.003) {
		w.tamper()
	}
	if w.chance(0.004) {
		w.garble()
	}
}
