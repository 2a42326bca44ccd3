package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// quiet is a cluster with one exact clock, in which leaders and workers die at once. So the documentation alone says what becomes of
// each slot: see judge. Its actions happen at their exact times.
type quiet struct {
	*rand.Rand
	seed    uint64
	now     time.Time
	store   *fakeStore
	config  planner.Config
	names   []string         // of the jobs
	leader  *planner.Planner // nil: no replica leads
	fed     int
	actions []action             // in the order of their times
	ends    map[string]time.Time // when the running attempts end
	lives   map[string]*life     // all runs, by name
	scanned int
	skips   map[string][]*job.Event // skipped ranges of each job
	late    map[string][]time.Time  // when slots were reported as late, by run
	down    []stretch               // when no replica led
	orders  map[string]int          // how many backfills of each job were ordered
	paused  map[string][]stretch    // by job; "": all jobs
	eras    map[string][]era        // the definitions of each job
	dead    map[string]bool         // sessions of workers
	log     func(string, ...any)
}

// action is something that a client or a replica does.
type action struct {
	at time.Time
	do func()
}

// stretch is a stretch of time, without its end.
type stretch struct{ from, to time.Time }

func (s stretch) has(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

func within(at time.Time, list ...[]stretch) bool {
	for _, l := range list {
		if slices.ContainsFunc(l, func(s stretch) bool { return s.has(at) }) {
			return true
		}
	}
	return false
}

// never is later than every time of a cluster.
var never = midnight.Add(10_000 * time.Hour)

func newQuiet(seed uint64, log func(string, ...any)) *quiet {
	q := &quiet{
		Rand: rand.New(rand.NewPCG(seed, 2)), seed: seed, now: midnight.Add(time.Millisecond), store: newFakeStore(),
		ends: make(map[string]time.Time), late: make(map[string][]time.Time), lives: make(map[string]*life), skips: make(map[string][]*job.Event),
		paused: make(map[string][]stretch), orders: make(map[string]int), eras: make(map[string][]era), dead: make(map[string]bool),
	}
	q.log = func(format string, args ...any) { log(q.now.Format("15:04:05.000 ")+format, args...) }
	q.config.ArmAhead = []time.Duration{0, 2 * time.Second, 10 * time.Second}[q.IntN(3)]
	q.store.onCommit = func(d job.Decision) {
		e := d.Event
		if e != nil && e.Kind == job.EventLate {
			q.late[e.Run] = append(q.late[e.Run], q.now)
			q.log("late %s", e.Run)
		}
		if e != nil && e.Kind == job.EventSkipped {
			copied := *e
			copied.At = q.now
			q.skips[d.Job] = append(q.skips[d.Job], &copied)
			q.log("skip %s %v to %v: %s", d.Job, e.From, e.To, e.Reason)
		}
	}
	return q
}

func (q *quiet) chance(p float64) bool { return q.Float64() < p }

func (q *quiet) upTo(d time.Duration) time.Duration { return time.Duration(q.Int64N(int64(d)) + 1) }

// at plans an action.
func (q *quiet) at(at time.Time, do func()) { q.actions = append(q.actions, action{at, do}) }

func (q *quiet) define(name string, spec job.Spec) {
	spec.Command = []string{"true"}
	j, changed := job.Define(q.store.job(name), name, spec, job.Origin{}, q.now)
	if !changed {
		return
	}
	q.store.putJob(j)
	if n := len(q.eras[name]); n > 0 {
		q.eras[name][n-1].to = q.now
	}
	q.eras[name] = append(q.eras[name], era{stretch{q.now, never}, j.Spec})
	s := j.Spec
	q.log("define %s: every %v, after %v, overlap %s, missed %s, window %v, limit %d, start_within %v, approve %v, limits %v",
		name, s.Every, s.After, s.Overlap, s.Missed, s.MissedWindow, s.MissedLimit, s.StartWithin, s.Approve, s.Limits)
}

// lead lets a new replica lead.
func (q *quiet) lead() {
	if q.leader != nil {
		return
	}
	q.log("a replica leads")
	if n := len(q.down); n > 0 {
		q.down[n-1].to = q.now
	}
	q.leader, q.fed = planner.New(q.config), len(q.store.log)
	q.store.term++
	for _, c := range q.store.snapshot() {
		q.leader.Apply(c, q.now)
	}
	q.leader.Lead(q.now)
}

func (q *quiet) crash() {
	if q.leader != nil {
		q.log("the leader crashes")
		q.leader, q.down = nil, append(q.down, stretch{q.now, never})
	}
}

// pause pauses or resumes a job; "" stands for all jobs.
func (q *quiet) pause(name string, paused bool) {
	var p *job.Pause
	if paused {
		p = &job.Pause{At: q.now}
	}
	var changed bool
	if name == "" {
		var g job.Gate
		if g, changed = q.store.gate().SetPause(p, q.now); changed {
			q.store.put(job.Change{Kind: job.RecordGate, Value: &g})
		}
	} else {
		var j job.Job
		if j, changed = q.store.job(name).SetPause(p, q.now); changed {
			q.store.putJob(j)
		}
	}
	switch list := q.paused[name]; {
	case !changed:
		return
	case paused:
		q.paused[name] = append(list, stretch{q.now, never})
	default:
		list[len(list)-1].to = q.now
	}
	q.log("pause %q: %v", name, paused)
}

// submit runs a job by hand.
func (q *quiet) submit(name string) {
	id := fmt.Sprintf("m%d", q.store.rev)
	q.store.put(job.Change{Kind: job.RecordRun, Name: name + "/" + id, Value: &job.Run{
		Job: name, ID: id, Kind: job.KindManual, Slot: q.now, Due: q.now, State: job.Pending, Created: q.now,
	}})
}

// start runs a job by hand, with everything behind it.
func (q *quiet) start(name string) {
	r := job.Run{
		Job: name, ID: fmt.Sprintf("m%d", q.store.rev), Kind: job.KindManual, Slot: q.now, Due: q.now, State: job.Pending, Created: q.now,
	}
	q.log("start %s", r.Name())
	q.store.submitAll(r, workflow.Of(q.store.specs()).Runs(&r, func(string) int64 { return 1 }))
}

// resume continues a workflow from one of its failed runs.
func (q *quiet) resume() {
	failed := slices.DeleteFunc(q.store.runs(), func(r *job.Run) bool {
		return !slices.Contains([]string{"a", "b", "c"}, r.Job) || !r.State.Terminal() || workflow.Unfit(r) != ""
	})
	if len(failed) == 0 {
		return
	}
	old := failed[q.IntN(len(failed))]
	id := fmt.Sprintf("m%d", q.store.rev)
	q.log("resume %s as %s", old.Name(), id)
	q.store.resume(old, id, q.now)
}

// backfill orders the slots of some minutes before the creation of a job.
func (q *quiet) backfill(name string) {
	b := job.Backfill{
		From: midnight.Add(-q.upTo(3 * time.Minute)), To: midnight, Order: []job.BackfillOrder{job.OldestFirst, job.NewestFirst}[q.IntN(2)],
		Concurrency: 1 + q.IntN(3), By: "alice", Created: q.now,
	}
	ordered := q.store.orderBackfill(q.store.job(name), b)
	q.orders[name]++
	q.log("backfill %s from %v: %v", name, b.From, ordered)
}

// each returns the runs that have not ended, by name.
func (q *quiet) each(yield func(*job.Run) bool) {
	for _, r := range q.store.runs() {
		if !r.State.Terminal() && !yield(r) {
			return
		}
	}
}

func (q *quiet) cancelOne(jobs []string) {
	for r := range q.each {
		if slices.Contains(jobs, r.Job) && q.chance(0.5) {
			next, _ := r.Stop(job.Cancel{At: q.now, By: "alice", Reason: "asked for"})
			q.log("cancel %s", r.Name())
			_ = q.store.stopRun(next)
			return
		}
	}
}

func (q *quiet) approveOne(approved bool) {
	for r := range q.each {
		if r.AwaitsApproval() {
			next, _ := r.Decide(&job.Approve{By: r.Approval.By}, job.Verdict{Approved: approved, At: q.now, Who: "alice"})
			_, _ = q.store.writeRun(next)
			return
		}
	}
}

// run lets the cluster act until a time.
func (q *quiet) run(end time.Time) error {
	slices.SortStableFunc(q.actions, func(a, b action) int { return a.at.Compare(b.at) })
	for !q.now.After(end) {
		for len(q.actions) > 0 && !q.actions[0].at.After(q.now) {
			q.actions[0].do()
			q.actions = q.actions[1:]
			q.scan()
		}
		for round := 0; q.work() || q.decide(); round++ {
			if q.scan(); round > 2000 {
				return fmt.Errorf("seed %d: the cluster does not become idle at %v", q.seed, q.now)
			}
		}
		q.now = q.next(end)
	}
	return nil
}

// next returns when something happens next.
func (q *quiet) next(end time.Time) time.Time {
	next := end.Add(1)
	sooner := func(at time.Time) {
		if at.After(q.now) && at.Before(next) {
			next = at
		}
	}
	if len(q.actions) > 0 {
		sooner(q.actions[0].at)
	}
	if q.leader != nil {
		if at, ok := q.leader.Next(); ok {
			sooner(at)
		}
	}
	for r := range q.each {
		if sooner(q.endOf(r)); r.State == job.Armed {
			sooner(r.Due)
		}
	}
	return next
}

// decide lets the leader decide.
func (q *quiet) decide() bool {
	if q.leader == nil {
		return false
	}
	for ; q.fed < len(q.store.log); q.fed++ {
		q.leader.Apply(asMirrored(q.store.log[q.fed]), q.now)
	}
	ds := q.leader.Plan(q.now, 100)
	if len(ds) > 0 {
		for i, a := range q.store.commit(q.store.term, ds) {
			q.leader.Resolve(ds[i], a, q.now)
		}
	}
	return len(ds) > 0
}
