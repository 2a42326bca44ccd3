package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// stage is a cluster for a script: one store, one clock, at most one leader, and workers that follow the script.
type stage struct {
	t       *testing.T
	now     time.Time
	store   *fakeStore
	leader  *planner.Planner // nil: no replica leads
	fed     int              // how many changes of the log the leader has applied
	config  planner.Config
	workers map[string]*job.Worker
	auto    map[string]time.Duration // workers that start runs at once, and how long these take
	ends    map[string]time.Time     // when their runs end
	skew    time.Duration            // how far all worker clocks are ahead
	shown   int                      // how many changes of the log are printed
	out     strings.Builder
}

var midnight = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func newStage(t *testing.T) *stage {
	st := &stage{
		t: t, now: midnight, store: newFakeStore(),
		workers: make(map[string]*job.Worker), auto: make(map[string]time.Duration), ends: make(map[string]time.Time),
	}
	return st
}

func (st *stage) printed() string {
	defer st.out.Reset()
	if st.out.Len() == 0 {
		return "(nothing)\n"
	}
	return st.out.String()
}

// advance moves the clock forward, from one event to the next.
func (st *stage) advance(d time.Duration) {
	for end := st.now.Add(d); ; {
		next := end
		if st.leader != nil {
			if at, ok := st.leader.Next(); ok && at.After(st.now) && at.Before(next) {
				next = at
			}
		}
		for _, at := range st.ends {
			if at.Before(next) {
				next = at
			}
		}
		for _, r := range st.store.runs() {
			if _, auto := st.auto[r.Worker]; auto && r.State == job.Armed && r.Due.After(st.now) && r.Due.Before(next) {
				next = r.Due
			}
		}
		st.now = next
		st.runUntilIdle()
		if !st.now.Before(end) {
			return
		}
	}
}

// runUntilIdle lets the leader and the workers act until nothing is left to do now.
func (st *stage) runUntilIdle() {
	for round := 0; ; round++ {
		if round > 1000 {
			st.t.Fatalf("the cluster never becomes idle:\n%s", st.out.String())
		}
		st.show()
		busy := st.work()
		if st.leader != nil {
			for ; st.fed < len(st.store.log); st.fed++ {
				st.leader.Apply(st.store.log[st.fed], st.now)
			}
			ds := st.leader.Plan(st.now, 100)
			if len(ds) > 0 {
				for i, a := range st.store.commit(st.store.term, ds) {
					st.leader.Resolve(ds[i], a, st.now)
				}
				busy = true
			}
		}
		if !busy {
			return
		}
	}
}

// work lets the automatic workers start and end their runs.
func (st *stage) work() (busy bool) {
	for _, r := range st.store.runs() {
		takes, auto := st.auto[r.Worker]
		if w := st.workers[r.Worker]; !auto || w == nil || w.Session != r.Session {
			continue
		}
		switch ends := st.ends[r.Name()]; {
		case r.State == job.Armed && r.Due.After(st.now): // it waits for its time
		case r.State == job.Armed:
			st.claim(r.Name())
			st.ends[r.Name()] = st.now.Add(takes)
			busy = true
		case r.State == job.Running && r.Cancel != nil:
			st.finish(r.Name(), "canceled", nil)
			busy = true
		case r.State == job.Running && !ends.After(st.now):
			st.finish(r.Name(), "succeeded", nil)
			busy = true
		}
	}
	for name := range st.ends {
		if r := st.store.run(name); r == nil || r.State != job.Running {
			delete(st.ends, name)
		}
	}
	return busy
}

func (st *stage) claim(name string) {
	next, err := st.mustRun(name).Claim(st.mustRun(name).Rev, st.now.Add(st.skew))
	if j := st.store.job(next.Job); j != nil {
		next.Bound = j.Spec.Bound()
	}
	st.write(next, err)
}

func (st *stage) finish(name, state string, opts map[string]string) {
	r := st.mustRun(name)
	o := job.Outcome{State: job.State(state), At: st.now.Add(st.skew), Reason: strings.ReplaceAll(opts["reason"], "_", " ")}
	if d, ok := opts["retry"]; ok {
		st.write(r.Requeue(o, st.now.Add(span(d)), "retry"))
		return
	}
	st.write(r.Finish(o))
}

func (st *stage) cancel(name string) {
	next, err := st.mustRun(name).Stop(job.Cancel{At: st.now, By: "alice", Reason: "asked for"})
	if err != nil {
		st.out.WriteString(err.Error() + "\n")
		return
	}
	if err := st.store.stopRun(next); err != nil {
		st.t.Fatal(err)
	}
}

// approve decides about a run as a client does.
func (st *stage) approve(name string, approved bool) {
	r := st.mustRun(name)
	var rule *job.Approve
	if j := st.store.job(r.Job); j != nil {
		rule = j.Spec.Approve
	}
	next, err := r.Decide(rule, job.Verdict{Approved: approved, At: st.now, Who: "alice", Reason: "asked for"})
	if err != nil {
		st.out.WriteString(err.Error() + "\n")
		return
	}
	st.write(next, nil)
}

func (st *stage) submit(name string, opts map[string]string) {
	r := job.Run{
		Job: name, ID: opts["id"], Kind: job.KindManual, Slot: st.now, Due: st.now, State: job.Pending, Created: st.now,
		Key: opts["key"],
	}
	if d, ok := opts["in"]; ok {
		r.Kind, r.Due = job.KindDelayed, st.now.Add(span(d))
	}
	if name == job.AdHoc {
		r.Spec = &job.Spec{Command: []string{"true"}}
		if zone, ok := opts["zone"]; ok {
			r.Spec.Workers = map[string]string{"zone": zone}
		}
	}
	st.write(r, nil)
}

// start starts a workflow by hand: its records are written at once.
func (st *stage) start(name string, opts map[string]string) {
	r := job.Run{Job: name, ID: opts["id"], Kind: job.KindManual, Slot: st.now, Due: st.now, State: job.Pending, Created: st.now}
	st.store.submitAll(r, workflow.Of(st.store.specs()).Runs(&r, func(string) int64 { return 1 }))
}

func (st *stage) write(r job.Run, err error) {
	st.t.Helper()
	if err == nil {
		_, err = st.store.writeRun(r)
	}
	if err != nil {
		st.t.Fatalf("write run %s: %v; the last output:\n%s", r.Name(), err, st.out.String())
	}
}

func (st *stage) mustRun(name string) *job.Run {
	st.t.Helper()
	r := st.store.run(name)
	if r == nil {
		st.t.Fatalf("there is no run %s; the last output:\n%s", name, st.out.String())
	}
	return r
}

// show prints the changes since the last call.
func (st *stage) show() {
	for ; st.shown < len(st.store.log); st.shown++ {
		c := st.store.log[st.shown]
		if b := job.ValueOf[job.Backfill](c); b != nil && (b.State != job.BackfillRunning || b.Reason != "") {
			st.print("backfill of %s %s: %d started, %d passed %s", b.Job, b.State, b.Started, b.Passed, b.Reason)
		}
		switch r := job.ValueOf[job.Run](c); {
		case r != nil:
			st.print("%s", describe(r))
		case c.Kind == job.RecordRun && c.Bad == nil:
			st.print("run %s removed", c.Name)
		}
	}
}

func (st *stage) showEvent(d job.Decision) {
	e := d.Event
	switch {
	case e == nil:
		return
	case e.Kind == job.EventLate:
		st.print("late %s: %s", e.Run, e.Reason)
	case e.From.Equal(e.To):
		st.print("skip %s/%s: %s", e.Job, job.SlotID(e.From), e.Reason)
	default:
		st.print("skip %s/%s to %s (%d): %s", e.Job, job.SlotID(e.From), job.SlotID(e.To), e.Count, e.Reason)
	}
}

func (st *stage) showRuns(name string) {
	for _, r := range st.store.runs() {
		if name == "" || r.Job == name {
			st.print("%s", describe(r))
		}
	}
}

func describe(r *job.Run) string {
	s := fmt.Sprintf("run %s %s", r.Name(), r.State)
	if r.State == job.Armed || r.State == job.Running {
		s += fmt.Sprintf(" on %s, attempt %d", r.Worker, r.Attempt)
	}
	if r.Late {
		s += ", late"
	}
	if r.Cancel != nil && !r.State.Terminal() {
		s += ", to be canceled"
	}
	if len(r.Params) > 0 {
		s += ", with " + r.ParamsText()
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

func (st *stage) print(format string, args ...any) {
	text := strings.NewReplacer("2026-11-21T", "", "2026-", "").Replace(fmt.Sprintf(format, args...))
	day := ""
	if n := int(st.now.Sub(midnight) / (24 * time.Hour)); n > 0 {
		day = fmt.Sprintf("%dd ", n)
	}
	fmt.Fprintf(&st.out, "%s%s %s\n", day, st.now.Format("15:04:05.999"), text)
}

func clock(s string) time.Time {
	t, _ := time.Parse(time.TimeOnly, s)
	return midnight.Add(t.Sub(t.Truncate(24 * time.Hour)))
}
