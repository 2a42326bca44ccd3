package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// rig is a planner that leads, with its store and a clock that stands still unless told.
type rig struct {
	*testing.T
	*planner.Planner
	store *fakeStore
	now   time.Time
	fed   int
}

func newRig(t *testing.T) *rig {
	return &rig{T: t, Planner: planner.New(planner.Config{}), store: newFakeStore(), now: midnight}
}

func (r *rig) feed() {
	for ; r.fed < len(r.store.log); r.fed++ {
		r.Apply(r.store.log[r.fed], r.now)
	}
}

func (r *rig) lead() {
	r.feed()
	r.store.term++
	r.Lead(r.now)
}

func (r *rig) define(name string, spec job.Spec) {
	spec.Command = []string{"true"}
	r.store.putJob(job.Job{Name: name, Generation: 1, Since: r.now, SinceReason: job.SinceCreated, Spec: new(spec.WithDefaults())})
}

func (r *rig) worker(name string, capacity int) {
	r.store.putWorker(job.Worker{Name: name, Session: name + "-1", Capacity: capacity})
}

// plan returns the one decision that there has to be.
func (r *rig) plan() job.Decision {
	r.Helper()
	ds := r.Plan(r.now, 10)
	if len(ds) != 1 {
		r.Fatalf("got %d decisions, want 1: %+v", len(ds), ds)
	}
	return ds[0]
}

func (r *rig) rests() {
	r.Helper()
	if ds := r.Plan(r.now, 10); len(ds) != 0 {
		r.Fatalf("got %d decisions, want none: %+v", len(ds), ds[0])
	}
}

// commit sends a decision and returns the answer, without telling the planner.
func (r *rig) commit(d job.Decision) job.Applied {
	return r.store.commit(r.store.term, []job.Decision{d})[0]
}

// The next slot that a cursor names is not taken on trust: whoever wrote it may have known other rules of a time zone.
func TestACursorsNextSlotIsComputed(t *testing.T) {
	for what, next := range map[string]time.Duration{"early": 30 * time.Second, "late": 90 * time.Second, "none": 0} {
		for _, jobFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, job first %t", what, jobFirst), func(t *testing.T) {
				r := newRig(t)
				c := job.Cursor{Job: "j", After: midnight, Generation: 1}
				if next > 0 {
					c.Next = midnight.Add(next)
				}
				if jobFirst {
					r.define("j", job.Spec{Every: minutely})
				}
				r.store.put(job.Change{Kind: job.RecordCursor, Name: "j", Cursor: &c})
				if !jobFirst {
					r.define("j", job.Spec{Every: minutely})
				}
				r.lead()
				r.rests()
				r.now = midnight.Add(30 * time.Second)
				r.rests()
				if at, ok := r.Next(); !ok || !at.Equal(midnight.Add(time.Minute)) {
					t.Errorf("it looks again at %v, %t", at, ok)
				}
				r.now = midnight.Add(time.Minute)
				d := r.plan()
				if d.Run == nil || !d.Run.Slot.Equal(r.now) {
					t.Fatalf("got %+v, want the run of the slot", d)
				}
				r.Resolve(d, r.commit(d), r.now)
				r.feed()
				r.now = midnight.Add(90 * time.Second)
				for _, d := range r.Plan(r.now, 10) {
					if d.Cursor != nil {
						t.Errorf("it decides another slot: %+v", d)
					}
				}
			})
		}
	}
}

// Whatever becomes of the gate's record, what is armed is guarded by its revision.
func TestDecisionsNameTheGate(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.worker("w", 10)
	r.lead()
	for _, gate := range []struct {
		what   string
		change job.Change
	}{
		{"resumed", job.Change{Kind: job.RecordGate, Gate: &job.Gate{Since: midnight}}},
		{"unreadable", job.Change{Kind: job.RecordGate, Bad: errors.New("garbage")}},
		{"deleted", job.Change{Kind: job.RecordGate}},
	} {
		r.store.put(gate.change)
		r.feed()
		r.now = r.now.Add(time.Minute)
		d := r.plan()
		a := r.commit(d)
		if d.Run == nil || d.Run.State != job.Armed || a.Err != nil {
			t.Fatalf("with the gate %s: got %+v, and then %v", gate.what, d, a.Err)
		}
		r.Resolve(d, a, r.now)
		r.feed()
	}
}

// What the feed says of a gate that nobody can read holds.
func TestAGateThatWasNeverReadMayBeClosed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 10)
	r.store.put(job.Change{Kind: job.RecordGate, Bad: errors.New("garbage"), Gate: &job.Gate{Paused: &job.Pause{Reason: "nobody knows"}}})
	r.lead()
	r.now = r.now.Add(time.Minute)
	if ds := r.Plan(r.now, 1); len(ds) > 0 {
		t.Errorf("got %+v, want nothing", ds[0])
	}
	r.store.put(job.Change{Kind: job.RecordGate, Gate: &job.Gate{Since: r.now}})
	r.feed()
	r.now = r.now.Add(time.Minute)
	if d := r.plan(); d.Event == nil || d.Event.Reason != "paused" {
		t.Errorf("after it was opened: got %+v, want the slot of the meantime skipped as paused", d)
	}
}

// A slot's run that only waits is guarded by it, too: a slot of a pause of which the leader has not heard may not run later.
func TestASlotsRunThatWaitsNamesTheGate(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.store.put(job.Change{Kind: job.RecordGate, Gate: &job.Gate{Since: midnight}})
	r.feed()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	if a := r.commit(d); d.Run == nil || d.Run.State != job.Pending || a.Err != nil {
		t.Errorf("got %+v, and then %v, want a pending run", d, a.Err)
	}
}

const minutely = job.Duration(time.Minute)

func TestAJobHasOneDecisionUnderWay(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.worker("w", 10)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.now = r.now.Add(5 * time.Minute)
	r.store.putJob(*r.store.job("j"))
	r.feed()
	r.rests()
	a := r.commit(d)
	if a.Err == nil {
		t.Fatal("a decision from an old definition was committed")
	}
	r.Resolve(d, a, r.now)
	r.feed()
	r.now = r.now.Add(time.Second)
	r.plan()
}

func TestARefusedDecisionRests(t *testing.T) {
	for name, err := range map[string]error{"after a conflict": job.ErrConflict, "after a refusal": job.ErrFull} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("j", job.Spec{Every: minutely})
			r.lead()
			r.now = r.now.Add(time.Minute)
			var tries []time.Duration
			for began := r.now; r.now.Sub(began) < time.Minute; {
				d := r.plan()
				tries = append(tries, r.now.Sub(began))
				r.Resolve(d, job.Applied{Err: err}, r.now)
				r.rests()
				next, ok := r.Next()
				if !ok || !next.After(r.now) {
					t.Fatalf("Next = %v, %v at %v: want a while later", next, ok, r.now)
				}
				r.now = next
			}
			if n := len(tries); n < 10 || n > 30 {
				t.Errorf("tried %d times within a minute, at %v: want about 18", n, tries)
			}
		})
	}

	t.Run("until the store tells something new", func(t *testing.T) {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely})
		r.lead()
		r.now = r.now.Add(time.Minute)
		r.Resolve(r.plan(), job.Applied{Err: job.ErrConflict}, r.now)
		r.define("j", job.Spec{Every: minutely})
		r.feed()
		r.now = r.now.Add(time.Minute)
		r.plan()
	})
}

func TestSlotsThatTheStoreDidNotTakeAreMissed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow, Missed: job.MissedLatest})
	r.lead()
	for end := r.now.Add(10 * time.Minute); r.now.Before(end); r.now, _ = r.Next() {
		for _, d := range r.Plan(r.now, 10) {
			r.Resolve(d, job.Applied{Err: job.ErrFull}, r.now)
		}
	}
	d := r.plan()
	if d.Event == nil || d.Event.Count < 8 {
		t.Errorf("got %+v, want an event for the slots that passed", d)
	}
}

func TestARunThatIsTooLargeHoldsUpNothing(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow, Missed: job.MissedNone})
	r.worker("w", 10)
	for _, id := range []string{"a-large", "b-small"} {
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Run: &job.Run{
			Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending,
		}})
	}
	r.lead()
	for end := r.now.Add(90 * time.Second); r.now.Before(end); r.now = r.now.Add(time.Second) {
		for _, d := range r.Plan(r.now, 10) {
			a := job.Applied{Err: job.ErrTooLarge}
			if d.Run == nil || d.Run.ID != "a-large" || d.Run.State != job.Armed {
				a = r.commit(d)
			}
			r.Resolve(d, a, r.now)
			r.feed()
		}
	}
	states := map[string]job.State{"a-large": job.Canceled, "b-small": job.Armed, job.SlotID(midnight.Add(time.Minute)): job.Armed}
	for id, state := range states {
		if got := r.store.run("j/" + id); got == nil || got.State != state {
			t.Fatalf("%s: got %+v, want %s", id, got, state)
		}
	}
	large, want := r.store.run("j/a-large"), outOfScripts[0]
	told := explain.Explain(explain.Facts{Job: r.store.job("j"), Run: large, Now: r.now}, large.Slot)
	if text := strings.Join(told.Text, "\n"); large.Reason != want || !strings.Contains(text, want) {
		t.Errorf("got the reason %q, explained as %q, want %q", large.Reason, text, want)
	}
}

func TestAnOldChangeIsPassedOver(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	armed := *r.store.run(d.Run.Name())
	cursor := *r.store.cursor("j")
	claimed, _ := armed.Claim(armed.Rev, r.now)
	claimed, err := r.store.writeRun(claimed)
	if err != nil {
		t.Fatal(err)
	}
	old := claimed
	done, _ := claimed.Finish(job.Outcome{State: job.Succeeded, At: r.now})
	if _, err := r.store.writeRun(done); err != nil {
		t.Fatal(err)
	}
	r.feed()
	r.Apply(job.Change{Kind: job.RecordRun, Name: old.Name(), Rev: old.Rev, Run: &old}, r.now)
	r.Apply(job.Change{Kind: job.RecordRun, Name: old.Name(), Rev: armed.Rev, Run: &armed}, r.now)

	r.now = r.now.Add(time.Minute)
	d = r.plan()
	if d.Run.State != job.Armed {
		t.Fatalf("got %s: want the slot armed, since the run before it has ended", describe(d.Run))
	}
	r.Resolve(d, r.commit(d), r.now)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: cursor.Rev, Cursor: &cursor}, r.now)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: cursor.Rev}, r.now)
	r.rests()
}

func TestAConflictShowsTheCursor(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	other := d
	other.Run = nil
	if a := r.commit(other); a.Err != nil { // an earlier leader's request lands
		t.Fatal(a.Err)
	}
	a := r.commit(d)
	if a.Err == nil {
		t.Fatal("a slot was decided twice")
	}
	r.Resolve(d, a, r.now)
	r.now = r.now.Add(time.Second)
	r.rests() // though nothing has been fed
}

func TestARetryIsNotBuriedUnderWhatWaitsForIt(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapQueue})
	r.worker("w", 1)
	r.lead()
	for i := range 200 {
		id := fmt.Sprintf("m%03d", i)
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Run: &job.Run{
			Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending,
		}})
	}
	retry := job.Run{
		Job: "j", ID: "retry", Kind: job.KindManual, Slot: r.now, Due: r.now.Add(time.Second), State: job.Pending, Attempt: 1,
		Attempts: []job.Attempt{{Number: 1, Worker: "w", Token: 1, Started: r.now, Finished: r.now, State: job.Failed}},
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: retry.Name(), Run: &retry})
	r.feed()
	r.now = r.now.Add(2 * time.Second)
	for range 200 { // what waits is told why
		d := r.plan()
		if d.Run.State == job.Armed {
			if d.Run.ID != "retry" {
				t.Fatalf("got %s before the run that was begun", describe(d.Run))
			}
			return
		}
		r.Resolve(d, r.commit(d), r.now)
		r.feed()
	}
	t.Fatal("the retry was never given to a worker")
}

// What a run was told when it was asked for gives way to why it waits.
func TestWhatWasAskedForIsToldWhyItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		spec   job.Spec
		paused bool
		want   string
	}{
		"paused":     {job.Spec{Every: minutely}, true, "paused"},
		"for a run":  {job.Spec{Every: minutely}, false, "overlap: waits for an earlier run of the job"},
		"for a rate": {job.Spec{Every: minutely, Overlap: job.OverlapAllow, Rate: rate("1/m")}, false, "rate of job j: at most 1/m may start"},
		"for room":   {job.Spec{Every: minutely, Overlap: job.OverlapAllow}, false, "no worker has room"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("j", c.spec)
			r.worker("w", 1)
			r.lead()
			for i := range 3 {
				id := fmt.Sprint("m", i)
				r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Run: &job.Run{
					Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending, Reason: job.ReasonNew, Created: r.now,
				}})
			}
			if c.paused {
				j := *r.store.job("j")
				j.Paused = &job.Pause{At: r.now}
				r.store.putJob(j)
			}
			r.feed()
			for ds := r.Plan(r.now, 10); len(ds) > 0; ds = r.Plan(r.now, 10) {
				r.Resolve(ds[0], r.commit(ds[0]), r.now)
				r.feed()
			}
			if got := r.store.run("j/m2"); got.State != job.Pending || got.Reason != c.want {
				t.Errorf("got %s, want it pending: %s", describe(got), c.want)
			}
		})
	}
}

func TestASlotIsNotPassedOverForALaterManualRun(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Missed: job.MissedAll})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	later := job.Run{
		Job: "j", ID: "m", Kind: job.KindManual, Slot: r.now, Due: r.now.Add(time.Millisecond), State: job.Pending,
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: later.Name(), Run: &later})
	r.feed()
	r.now = r.now.Add(time.Second)
	if d := r.plan(); d.Run.Kind != job.KindScheduled || d.Run.State != job.Armed {
		t.Errorf("got %s, want the slot armed: it was due first", describe(d.Run))
	}
}

func TestSlotsBeforeTheBlockingRunBeganAreMissed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: job.Duration(time.Second), Missed: job.MissedNone})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Second)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(3 * time.Second) // its worker takes its time
	r.rests()
	claimed, _ := r.store.run(d.Run.Name()).Claim(d.Run.Rev, r.now.Add(-time.Second/2))
	if _, err := r.store.writeRun(claimed); err != nil {
		t.Fatal(err)
	}
	r.feed()
	r.rests()
	r.now = r.now.Add(8 * time.Second)
	r.rests() // it was not active when the next slot was due, however long it runs
	done, _ := r.store.run(d.Run.Name()).Finish(job.Outcome{State: job.Succeeded, At: r.now})
	if _, err := r.store.writeRun(done); err != nil {
		t.Fatal(err)
	}
	r.feed()
	d = r.plan()
	if d.Event == nil || d.Event.Count != 2 {
		t.Errorf("got %+v, want the two slots before it began written off", d)
	}
}

func TestADecisionOfADeletedJobLeavesNothingBehind(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.store.deleteJob("j")
	r.feed()
	r.Resolve(d, r.commit(d), r.now)
	r.now = r.now.Add(time.Hour)
	r.rests()
	if next, ok := r.Next(); ok {
		t.Errorf("Next = %v, want nothing to wait for", next)
	}
}

func TestAJobMadeAnewHasItsOwnSchedule(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	// The watch breaks; what comes of deletion and creation is the difference only: the generation is 1 again.
	r.store.deleteJob("j")
	r.define("j", job.Spec{Every: job.Duration(time.Hour), Overlap: job.OverlapAllow})
	r.fed = len(r.store.log)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: r.store.rev}, r.now)
	c := r.store.records[recordKey{job.RecordJob, "j"}]
	r.Apply(c, r.now)
	r.now = midnight.Add(59 * time.Minute)
	for _, d := range r.Plan(r.now, 10) {
		if d.Cursor != nil {
			t.Errorf("the old schedule is followed: %+v", d)
		}
	}
}

func TestStrangersAreForgotten(t *testing.T) {
	r := newRig(t)
	r.lead()
	for i := range 100 { // names of pods, say
		name := fmt.Sprintf("pod-%d", i)
		r.worker(name, 1)
		r.store.remove(job.RecordWorker, name)
	}
	r.feed()
	if n := r.Workers(); n != 0 {
		t.Errorf("the planner remembers %d workers, want none", n)
	}
}

func TestAnAnswerThatIsOlderThanTheFeedTellsNothing(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(time.Minute)
	d = r.plan()
	r.store.putJob(*r.store.job("j")) // so that d is refused
	a := r.commit(d)
	r.store.remove(job.RecordCursor, "j") // by hand, after that
	r.feed()
	r.Resolve(d, a, r.now)
	r.now = r.now.Add(time.Minute)
	d = r.plan()
	if d.Cursor == nil {
		t.Fatalf("got %+v, want the next slot decided", d)
	}
	if a := r.commit(d); a.Err != nil {
		t.Errorf("the decision is refused for ever: %v, cursor at revision %d in it, gone from the store", a.Err, d.Cursor.Rev)
	}
}

// A standby that was told of the end of a pause writes off what passed as soon as it leads, though nothing is due by then.
func TestAStandbyKnowsWhatIsToBeWrittenOff(t *testing.T) {
	r := newRig(t)
	end := midnight.Add(90 * time.Second)
	r.define("a", job.Spec{Every: minutely, End: &end})
	j := *r.store.job("a")
	j.Paused, j.Scheduled = &job.Pause{At: r.now}, r.now
	r.store.putJob(j)
	r.now = r.now.Add(time.Hour)
	j = *r.store.job("a")
	j.Paused, j.Since, j.SinceReason = nil, r.now, job.SinceResumed
	r.store.putJob(j)
	r.feed()
	r.rests() // follows
	r.lead()
	d := r.plan()
	if d.Event == nil || d.Event.Reason != "paused" || !d.Event.From.Equal(midnight.Add(time.Minute)) || d.Event.Count != 1 {
		t.Fatalf("got %+v, want the slot of the pause written off", d.Event)
	}
}

// What a leader wrote and somebody removed may never be told: a watch that is built anew tells the difference between two
// lists. Then only refusals show it.
func TestWhatVanishedUntoldIsNotDecidedFromForEver(t *testing.T) {
	play := func(r *rig) (armed bool) {
		for range 5 {
			for _, d := range r.Plan(r.now, 10) {
				a := r.commit(d)
				r.Resolve(d, a, r.now)
				armed = armed || a.Err == nil && d.Run != nil && d.Run.State == job.Armed
			}
			r.now = r.now.Add(time.Second)
		}
		return armed
	}
	for name, vanish := range map[string]func(r *rig){
		"cursor": func(r *rig) { r.store.deleteJob("j") },
		"runs": func(r *rig) {
			for _, run := range r.store.runs() {
				r.store.remove(job.RecordRun, run.Name())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapQueue})
			r.lead()
			r.now = r.now.Add(time.Minute)
			play(r) // the slot's run waits for a worker
			r.feed()
			vanish(r)
			r.fed = len(r.store.log)
			r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapQueue})
			r.worker("w", 10)
			r.feed()
			r.now = r.now.Add(time.Minute)
			if !play(r) {
				t.Fatal("slots are decided from what is not there any more, and refused for ever")
			}
		})
	}
}

// A job that was made anew begins with generation 1, and its worker would wait for ever for the generation of the old one.
func TestARunIsGivenOutWithTheGenerationOfItsJob(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{})
	old := *r.store.job("j")
	old.Generation = 3
	r.store.putJob(old)
	r.store.put(job.Change{Kind: job.RecordRun, Name: "j/x", Run: &job.Run{
		Job: "j", ID: "x", Kind: job.KindManual, State: job.Pending, Slot: r.now, Due: r.now, Created: r.now, Generation: 3,
	}})
	r.lead()
	r.store.deleteJob("j")
	r.define("j", job.Spec{})
	r.worker("w", 1)
	r.feed()
	if d := r.plan(); d.Run == nil || d.Run.State != job.Armed || d.Run.Generation != 1 {
		t.Errorf("got %+v, want the run armed with generation 1", d.Run)
	}
}

// A worker with most room that begins nothing may keep a run waiting once, and not for ever.
func TestAWorkerThatDidNotBeginARunIsNotGivenItAgain(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: job.Duration(time.Hour)})
	r.worker("ghost", 10_000)
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Hour)
	d := r.plan()
	if d.Run.Worker != "ghost" {
		t.Fatalf("got it given to %q, want the one with most room", d.Run.Worker)
	}
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(planner.DefaultClaimTimeout)
	if run := r.plan().Run; run.Worker != "w" || run.State != job.Armed {
		t.Errorf("got %s at %q, want it given to the other one", run.State, run.Worker)
	}
}
