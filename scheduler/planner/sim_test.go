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
	simSeeds = flag.Int("sim.seeds", simDefault(simulations), "how many simulations (ROTA_SIM_SEEDS)")
	simSeed  = flag.Int64("sim.seed", -1, "run this one alone, and tell what happens")
)

func simDefault(n int) int {
	if v, err := strconv.Atoi(os.Getenv("ROTA_SIM_SEEDS")); err == nil {
		return v
	}
	return n
}

// TestSimulation lets replicas, workers and callers do their worst for some minutes, heals everything, and then checks
// the store's whole history.
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
	simLease = 5 * time.Second // of workers; the planners' WorkerTTL is their default
	simLag   = 1500 * time.Millisecond
)

// sim is a cluster under a seed.
type sim struct {
	*rand.Rand
	now      time.Time
	store    *fakeStore
	replicas []*simReplica
	workers  []*simWorker
	jobs     []string
	ids      int
	ahead    time.Duration // what the replicas give out so long before its time
	roomy    bool          // workers have room for everything
	calm     bool          // nothing goes wrong any more
	electAt  time.Time
	leader   *simReplica // holds the election; nil: nobody
	check    *checker
	log      func(format string, args ...any)
	told     int                // of the store's log
	broken   map[string]job.Job // definitions that somebody has overwritten with garbage
	tampered map[string]bool    // jobs whose cursor somebody has played with
}

func newSim(seed uint64, log func(string, ...any)) *sim {
	w := &sim{
		Rand: rand.New(rand.NewPCG(seed, 1)), now: midnight, store: newFakeStore(),
		broken: make(map[string]job.Job), tampered: make(map[string]bool),
	}
	w.log = func(format string, args ...any) {
		log(w.now.Format("15:04:05.000 ")+format, args...)
	}
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
			sim: w, name: fmt.Sprintf("w%d", i), offset: w.offset(), wrong: wrongClocks[w.n(len(wrongClocks))],
		})
	}
	w.defineJobs()
	return w
}

func (w *sim) n(n int) int                        { return w.IntN(n) }
func (w *sim) chance(p float64) bool              { return w.Float64() < p }
func (w *sim) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d) + 1)) }

// simOffset is how far a clock may be from the truth.
const simOffset = 200 * time.Millisecond

// wrongClocks is by how much the clock is wrong that a worker writes into records.
var wrongClocks = []time.Duration{0, 0, 0, 0, 45 * time.Second, -45 * time.Second, 24 * time.Hour, -24 * time.Hour}

func (w *sim) offset() time.Duration { return w.upTo(2*simOffset) - simOffset }

// storm lets the time d pass with everything going wrong.
func (w *sim) storm(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(20*time.Millisecond + w.upTo(400*time.Millisecond))
		w.disturb()
		w.step()
	}
}

// heal repairs everything and gives it time to settle.
func (w *sim) heal() {
	w.calm = true
	w.log("everything is healed")
	w.repair()
	w.resumeAll()
	for _, r := range w.replicas {
		r.up()
	}
	for _, x := range w.workers {
		x.revive()
	}
	for end := w.now.Add(4 * time.Minute); w.now.Before(end); {
		w.now = w.now.Add(500 * time.Millisecond)
		w.step()
	}
}

// step lets everybody do what there is to do now.
func (w *sim) step() {
	for _, x := range w.workers {
		x.step()
	}
	w.election()
	for _, r := range w.replicas {
		r.step()
	}
	for ; w.told < len(w.store.log); w.told++ {
		c := w.store.log[w.told]
		w.check.change(c)
		if c.Run != nil {
			w.log("%d %s", c.Rev, describe(c.Run))
		}
	}
}

// election lets somebody win when nobody leads.
func (w *sim) election() {
	if w.leader != nil && w.leader.planner == nil {
		w.vacant()
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
	r.catchUp(len(w.store.log)) // all that is in the store when the term is won
	r.planner.Lead(r.clock())
	w.log("%s leads term %d", r.name, r.term)
}

// vacant ends the present leadership; the next one is some time away.
func (w *sim) vacant() {
	w.leader = nil
	w.electAt = w.now.Add(w.upTo(200 * time.Millisecond))
	if !w.calm && w.chance(0.5) {
		w.electAt = w.now.Add(w.upTo(40 * time.Second))
	}
}

// disturb does something bad, now and then.
func (w *sim) disturb() {
	if w.leader != nil && w.chance(0.01) {
		r := w.leader
		w.vacant()
		switch {
		case w.chance(0.5):
			r.down()
		case w.chance(0.5):
			r.zombie = 1 + w.n(20) // does not know yet, and goes on writing
			w.store.term++         // for nothing
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
		case w.chance(0.002): // its clock is set, whoever leads
			r.offset = w.offset()
		}
	}
	for _, x := range w.workers {
		switch {
		case x.session == "" && w.chance(0.03):
			x.revive()
		case x.session != "" && w.chance(0.004):
			x.die()
		case x.session != "" && w.chance(0.004):
			x.pausedTill = w.now.Add(w.upTo(12 * time.Second))
		}
	}
	if w.chance(0.08) {
		w.operate()
	}
	if w.chance(0.003) {
		w.tamper()
	}
}

// simReplica is one replica: a planner, what it has been told, and what it has under way.
type simReplica struct {
	sim      *sim
	name     string
	keep     planner.Retention
	offset   time.Duration // of its clock
	planner  *planner.Planner
	fed      int   // changes of the store's log that it has been told
	term     int64 // zero: follows
	zombie   int   // steps until it learns that its term is over
	flights  []*flight
	tellMore time.Time // nothing is told before
	known    map[recordKey]int64
}

// flight is decisions on their way to the store and back.
type flight struct {
	term    int64
	ds      []job.Decision
	applyAt time.Time
	applied []job.Applied // nil: not applied yet
	tellAt  time.Time
}

func (r *simReplica) clock() time.Time { return r.sim.now.Add(r.offset) }

// up starts the replica with what is in the store, in no order.
func (r *simReplica) up() {
	if r.planner != nil {
		return
	}
	r.planner = planner.New(planner.Config{Retention: r.keep, ArmAhead: r.sim.ahead})
	r.fed, r.known = len(r.sim.store.log), make(map[recordKey]int64)
	r.flights, r.term, r.zombie = nil, 0, 0
	for _, c := range r.sim.store.snapshot() {
		r.apply(c)
	}
}

// down ends the replica's process. What it has sent may yet arrive.
func (r *simReplica) down() {
	r.sim.log("%s crashes", r.name)
	r.planner = nil
}

// depose ends the replica's term: everything under way is answered, with what is unknown.
func (r *simReplica) depose() {
	r.sim.log("%s follows", r.name)
	for _, f := range r.flights {
		for i := range f.ds {
			r.planner.Resolve(f.ds[i], job.Applied{Err: errTermLost}, r.clock())
		}
	}
	r.late()
	r.term, r.zombie = 0, 0
	r.planner.Follow()
}

// late leaves what is under way to arrive without anybody waiting for the answer.
func (r *simReplica) late() {
	for _, f := range r.flights {
		f.ds = append([]job.Decision(nil), f.ds...)
		r.sim.check.orphans = append(r.sim.check.orphans, f)
	}
	r.flights = nil
}

func (r *simReplica) apply(c job.Change) {
	key := recordKey{c.Kind, c.Name}
	if c.Deleted() {
		delete(r.known, key)
	} else {
		r.known[key] = c.Rev
	}
	r.planner.Apply(c, r.clock())
}

// catchUp tells the changes up to the given place in the log.
func (r *simReplica) catchUp(to int) {
	log := r.sim.store.log
	from := r.fed
	for ; r.fed < to; r.fed++ {
		r.apply(log[r.fed])
	}
	if from < to && r.sim.chance(0.02) { // and tells it twice
		for _, c := range log[from:to] {
			r.planner.Apply(c, r.clock())
		}
	}
}

// relist loses the watch, and tells the difference to what is there, in no order.
func (r *simReplica) relist() {
	s := r.sim.store
	there := make(map[recordKey]bool)
	for _, c := range s.snapshot() {
		key := recordKey{c.Kind, c.Name}
		there[key] = true
		if r.known[key] != c.Rev {
			r.apply(c)
		}
	}
	for key := range r.known {
		if !there[key] {
			r.apply(job.Change{Kind: key.kind, Name: key.name, Rev: s.rev})
		}
	}
	r.fed = len(s.log)
}

func (r *simReplica) step() {
	if r.planner == nil {
		r.late()
		return
	}
	w := r.sim
	if r.term != 0 && w.leader != r && r.zombie == 0 {
		r.depose()
	}
	for range 3 { // what one thing makes possible happens in the same step
		r.hear()
		r.answers()
		r.plan()
	}
	if r.zombie > 0 {
		if r.zombie--; r.zombie == 0 {
			r.depose()
		}
	}
}

// hear is told of a part of what has changed.
func (r *simReplica) hear() {
	w := r.sim
	if w.calm {
		r.catchUp(len(w.store.log))
		return
	}
	if w.now.Before(r.tellMore) {
		return
	}
	// Whole revisions only.
	to := min(len(w.store.log), r.fed+w.n(30))
	for to > 0 && to < len(w.store.log) && w.store.log[to].Rev == w.store.log[to-1].Rev {
		to++
	}
	r.catchUp(to)
	if w.chance(0.1) {
		r.tellMore = w.now.Add(w.upTo(simLag))
	}
	if w.chance(0.3) {
		r.catchUp(len(w.store.log))
	}
}

func (r *simReplica) answers() {
	now := r.sim.now
	var under []*flight
	for _, f := range r.flights {
		r.sim.land(f)
		if f.applied == nil || now.Before(f.tellAt) {
			under = append(under, f)
			continue
		}
		for i := range f.ds {
			r.planner.Resolve(f.ds[i], f.applied[i], r.clock())
		}
	}
	r.flights = under
}

// land lets a flight reach the store in its time.
func (w *sim) land(f *flight) {
	if f.applied != nil || w.now.Before(f.applyAt) {
		return
	}
	if !w.calm && w.chance(0.01) { // refused for want of space, say
		f.applied = make([]job.Applied, len(f.ds))
		for i := range f.applied {
			f.applied[i].Err = job.ErrFull
		}
		return
	}
	f.applied = w.store.commit(f.term, f.ds)
}

func (r *simReplica) plan() {
	w := r.sim
	ds := r.planner.Plan(r.clock(), 1+w.n(64))
	if next, ok := r.planner.Next(); len(ds) == 0 && ok && !next.After(r.clock()) {
		w.check.fail("%s at %v: Plan has nothing to do, but wants to be called again at once", r.name, w.now)
	}
	for _, d := range ds {
		for _, f := range r.flights {
			for _, o := range f.ds {
				if o.Job == d.Job {
					w.check.fail("%s at %v: job %s has two decisions under way", r.name, w.now, d.Job)
				}
			}
		}
		if d.Cursor != nil {
			w.log("%s decides %s up to %v", r.name, d.Job, d.Cursor.After)
		}
	}
	if len(ds) == 0 {
		return
	}
	f := &flight{term: r.term, ds: ds, applyAt: w.now, tellAt: w.now}
	if !w.calm {
		f.applyAt = f.applyAt.Add(w.upTo(150 * time.Millisecond))
		f.tellAt = f.applyAt.Add(w.upTo(300 * time.Millisecond))
		if w.chance(0.01) {
			f.applyAt = f.applyAt.Add(w.upTo(4 * time.Second))
			f.tellAt = f.applyAt.Add(w.upTo(4 * time.Second))
		}
	}
	r.flights = append(r.flights, f)
}
