package history

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

var plannerSeeds = flag.Int("planner.seeds", 40, "how many worlds")

// TestThePlannerPasses lets rota's planner decide about jobs of all policies, with leaders that stop, workers that are killed,
// and pauses. The first oracle must find no violation. Then the test removes one due effect.
func TestThePlannerPasses(t *testing.T) {
	seeds := *plannerSeeds
	if testing.Short() {
		seeds = 10
	}
	grades, owed := make(Tally), 0
	for seed := range seeds {
		w := newWorld(uint64(seed))
		w.run(2 * time.Minute)
		h := w.history()
		found, graded := firstOracle(h)
		if len(found) > 0 {
			t.Fatalf("seed %d:\n%s%s", seed, lines(found[:min(len(found), 10)]), strings.Join(w.told, "\n"))
		}
		for _, g := range graded {
			if grades[g.Grade]++; !g.Must {
				continue
			}
			owed++
			without := h
			without.Effects = slices.DeleteFunc(slices.Clone(h.Effects), func(e Effect) bool { return e.Run == g.Run })
			if owed%50 > 0 {
				continue
			}
			if found, _ := firstOracle(without); len(found) == 0 {
				t.Errorf("seed %d: the judge does not miss %s", seed, g.Run)
			}
		}
	}
	t.Logf("%v; %d of them were due", grades, owed)
	for _, g := range []Grade{OK, Again, LateQueued, LateInFault, Skipped} {
		if grades[g] == 0 {
			t.Errorf("no slot is %v: too little happens", g)
		}
	}
	if 2*owed < grades[OK] {
		t.Errorf("only %d slots were due: the judge excuses too much", owed)
	}
}

// firstOracle judges by the effects alone.
func firstOracle(h History) (found []Violation, graded []SlotGrade) {
	tl := newTimeline(h)
	for _, j := range h.Jobs {
		graded = append(graded, tl.grades(j, tl.checkTargets(j))...)
	}
	return tl.found, graded
}

// world is a store, two workers, and one planner that leads now and then.
type world struct {
	*rand.Rand
	now     time.Time
	rev     int64
	planner *planner.Planner
	leads   bool
	runs    map[string]job.Run
	jobs    []job.Job
	workers map[string]*crewMember
	effects []Effect
	faults  []Fault
	halts   []Halt
	told    []string
}

// crewMember is a worker: its runs, and its executions.
type crewMember struct {
	session string // empty while the worker is dead
	given   []job.Run
	doing   []deed
}

type deed struct {
	run    job.Run
	effect int
	ends   time.Time
	state  job.State
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 3)), now: began, runs: make(map[string]job.Run), workers: map[string]*crewMember{"w1": {}, "w2": {}}}
	w.planner = planner.New(planner.Config{ArmAhead: time.Duration(w.IntN(3)) * time.Second})
	pick := func(n ...int) int { return n[w.IntN(len(n))] }
	for i := range 6 {
		const s = job.Duration(time.Second)
		spec := job.Spec{
			Missed: job.MissedPolicies()[w.IntN(3)], Overlap: job.OverlapPolicies()[w.IntN(4)], Delivery: job.Deliveries()[w.IntN(2)],
			MissedLimit: pick(1, 3, 100), MissedWindow: job.Duration(pick(0, 0, 4, 15)) * s, Jitter: job.Duration(pick(0, 0, 1)) * s,
		}
		if w.IntN(3) == 0 {
			spec.Schedule = []string{fmt.Sprintf("*/%d * * * * *", pick(2, 3, 5))}
		} else {
			spec.Every = job.Duration(pick(1, 2, 3, 7)) * s
		}
		w.jobs = append(w.jobs, job.Job{Name: fmt.Sprint("job-", i), Generation: 1, Since: w.now, Spec: new(spec.WithDefaults())})
	}
	for _, j := range w.jobs {
		s := j.Spec
		w.tellf("%s: every %v %v jitter %v missed %s window %v limit %d overlap %s %s", j.Name, s.Every, s.Schedule, s.Jitter, s.Missed,
			s.MissedWindow, s.MissedLimit, s.Overlap, s.Delivery)
		w.put(job.Change{Kind: job.RecordJob, Name: j.Name, Value: &j})
	}
	w.revive("w1")
	w.revive("w2")
	w.lead()
	return w
}

func (w *world) tellf(format string, args ...any) {
	w.told = append(w.told, stamp(w.now)+" "+fmt.Sprintf(format, args...))
}

// put writes a record at a new revision, and gives it to the planner.
func (w *world) put(c job.Change) {
	w.rev++
	w.tell(c)
}

func (w *world) tell(c job.Change) {
	c.Rev = w.rev
	switch v := c.Value.(type) {
	case *job.Job:
		v.Rev = w.rev
	case *job.Run:
		v.Rev = w.rev
		w.runs[c.Name] = *v
	case *job.Cursor:
		v.Rev = w.rev
	case *job.Worker:
		v.Rev = w.rev
	}
	w.planner.Apply(c, w.now)
}

func (w *world) save(r job.Run, err error) {
	if err == nil {
		w.put(job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r})
	}
}

func (w *world) lead() {
	w.leads = true
	w.planner.Lead(w.now)
}

func (w *world) revive(name string) {
	c := w.workers[name]
	c.session = fmt.Sprint(name, w.rev)
	w.put(job.Change{Kind: job.RecordWorker, Name: name, Value: &job.Worker{Name: name, Session: c.session, Capacity: 1000}})
}

// run lets time pass, with a fault or a pause now and then, and none at the end.
func (w *world) run(length time.Duration) {
	end := w.now.Add(length)
	var healed, back, resumed time.Time // ends of the present fault of the leader, of w1, and of the pause; zero: none
	for ; w.now.Before(end); w.now = w.now.Add(20 * time.Millisecond) {
		quiet := w.now.After(end.Add(-30 * time.Second))
		switch {
		case !healed.IsZero() && w.now.After(healed):
			healed = time.Time{}
			w.faults[len(w.faults)-1].Until = w.now
			w.tellf("the leader is back")
			w.lead()
		case !back.IsZero() && w.now.After(back):
			back = time.Time{}
			w.put(job.Change{Kind: job.RecordWorker, Name: "w1"})
			w.revive("w1")
		case !resumed.IsZero() && w.now.After(resumed):
			resumed = time.Time{}
			w.halts[len(w.halts)-1].Until = w.now
			w.put(job.Change{Kind: job.RecordGate, Value: &job.Gate{Since: w.now}})
		case quiet || !healed.IsZero() || !back.IsZero() || !resumed.IsZero() || w.IntN(1000) > 0:
		case w.IntN(3) == 0:
			healed = w.now.Add(time.Duration(w.IntN(20_000)) * time.Millisecond)
			w.faults = append(w.faults, Fault{Kind: Outage, At: w.now})
			w.tellf("the leader falls")
			w.leads = false
			w.planner.Follow()
		case w.IntN(2) == 0:
			back = w.now.Add(5 * time.Second)
			w.faults = append(w.faults, Fault{Kind: Kill, Node: "w1", At: w.now})
			w.tellf("w1 is killed")
			*w.workers["w1"] = crewMember{}
		default:
			resumed = w.now.Add(time.Duration(w.IntN(10_000)) * time.Millisecond)
			w.halts = append(w.halts, Halt{From: w.now})
			w.tellf("paused until %s", stamp(resumed))
			w.put(job.Change{Kind: job.RecordGate, Value: &job.Gate{Paused: &job.Pause{At: w.now}}})
		}
		for _, name := range []string{"w1", "w2"} {
			w.work(w.workers[name])
		}
		for range 5 {
			w.decide()
		}
	}
}

// decide applies the decisions of the planner.
func (w *world) decide() {
	if !w.leads {
		return
	}
	for _, d := range w.planner.Plan(w.now, 100) {
		w.rev++
		if d.Run != nil {
			r := *d.Run
			w.tell(job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r})
			c := w.workers[r.Worker]
			switch {
			case r.State == job.Armed && c.session == r.Session:
				c.given = append(c.given, r)
			case d.Stop:
				w.stop(c, r.Name())
			}
		}
		if d.Cursor != nil {
			c := *d.Cursor
			w.tell(job.Change{Kind: job.RecordCursor, Name: d.Job, Value: &c})
		}
		for _, r := range d.Deletions {
			w.tell(job.Change{Kind: job.RecordRun, Name: r.Name()})
		}
		w.planner.Resolve(d, job.Applied{Rev: w.rev}, w.now)
	}
}

func (w *world) stop(c *crewMember, run string) {
	for i := range c.doing {
		if d := &c.doing[i]; d.run.Name() == run {
			d.state, d.ends = job.Canceled, w.now.Add(40*time.Millisecond)
		}
	}
}

// work starts the runs of a worker on time, and ends those that are done.
func (w *world) work(c *crewMember) {
	c.given = slices.DeleteFunc(c.given, func(r job.Run) bool {
		if r.Due.After(w.now) {
			return false
		}
		if w.runs[r.Name()].Rev != r.Rev {
			return true // the run was withdrawn
		}
		claimed, err := r.Claim(r.Rev, w.now)
		w.save(claimed, err)
		takes := time.Duration(20+w.IntN(200)) * time.Millisecond
		if w.IntN(20) == 0 {
			takes = time.Duration(w.IntN(6000)) * time.Millisecond
		}
		c.doing = append(c.doing, deed{w.runs[r.Name()], len(w.effects), w.now.Add(takes), job.Succeeded})
		w.effects = append(w.effects, Effect{Job: r.Job, Run: r.Name(), Attempt: r.Attempt, Token: r.Rev, Key: r.IdempotencyKey(), Arrived: w.now})
		return true
	})
	c.doing = slices.DeleteFunc(c.doing, func(d deed) bool {
		if d.ends.After(w.now) {
			return false
		}
		w.effects[d.effect].Ended = w.now
		if r := w.runs[d.run.Name()]; r.Token == d.run.Token && r.State == job.Running {
			next, err := r.Finish(job.Outcome{State: d.state, At: w.now})
			w.save(next, err)
		}
		return true
	})
}

// history returns the recorded history, without the store.
func (w *world) history() History {
	h := History{Effects: w.effects, Faults: w.faults, Halts: w.halts, Over: w.now, Recovery: 10 * time.Second, Slack: time.Second}
	for _, j := range w.jobs {
		h.Jobs = append(h.Jobs, Job{Name: j.Name, Spec: *j.Spec, Effects: true, Tolerance: 500 * time.Millisecond, From: began})
	}
	return h
}
