package planner_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// checker follows every write of a simulation, and reports the broken invariants at its end.
type checker struct {
	sim     *sim
	errs    []error
	runs    map[string]*job.Run     // the latest version of each run
	tokens  map[string]int64        // the last armed revision of each job
	specs   map[string]job.Spec     // the specs of deleted jobs
	execs   map[string][]*execution // by job
	created map[string]int          // records of each run that were created
	garbage map[string]bool         // runs that were overwritten by hand
	skips   map[string][]*job.Event // skipped ranges of each job
	limits  limitChecker
	ended   map[string]time.Time // when the runs ended
	lates   map[string]bool      // the events of late slots
	orphans []*flight            // requests of former leaders that may still arrive
}

// execution is the time for which an attempt ran on its worker.
type execution struct {
	run        string
	begin, end time.Time // end zero: it still runs
	backfill   bool      // it may overlap with others
}

func newChecker(w *sim) *checker {
	return &checker{
		sim: w, runs: make(map[string]*job.Run), tokens: make(map[string]int64), specs: make(map[string]job.Spec),
		execs: make(map[string][]*execution), created: make(map[string]int), garbage: make(map[string]bool), skips: make(map[string][]*job.Event),
		ended: make(map[string]time.Time), lates: make(map[string]bool),
	}
}

func (c *checker) fail(format string, args ...any) {
	if len(c.errs) < 20 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// change checks one written record.
func (c *checker) change(ch job.Change) {
	for _, f := range c.orphans {
		c.sim.land(f)
	}
	c.flowChange(ch)
	c.limits.define(ch)
	c.late(ch)
	r := job.ValueOf[job.Run](ch)
	if r == nil {
		return
	}
	name := r.Name()
	old := c.runs[name]
	c.runs[name] = r
	if old == nil {
		if !job.State("").CanBecome(r.State) {
			c.fail("run %s is created %s", name, r.State)
		}
		c.newParent(r)
	} else {
		c.compare(old, r)
	}
	c.stepRun(old, r)
	c.params(old, r)
	c.limits.change(c, old, r)
	c.waited(old, r)
	if r.State == job.Armed {
		c.approved(r)
		c.suited(r)
		c.room(r)
		if last := c.tokens[r.Job]; ch.Rev <= last {
			c.fail("run %s: token %d after %d", name, ch.Rev, last)
		}
		c.tokens[r.Job] = ch.Rev
	}
}

// room checks that a worker gets no more runs than its capacity. A due run may take the place of one that is armed ahead.
func (c *checker) room(r *job.Run) {
	w := job.ValueOf[job.Worker](c.sim.store.records[recordKey{job.RecordWorker, r.Worker}])
	if w == nil || w.Session != r.Session {
		return
	}
	n := 0
	for _, o := range c.runs {
		yields := o.Due.After(r.Armed) && !r.Due.After(r.Armed)
		overtakes := !o.Due.After(o.Armed) && !o.Armed.Before(r.Armed) && r.Due.After(r.Armed)
		if o.Session == r.Session && (o.State == job.Armed || o.State == job.Running) && !yields && !overtakes {
			n++
		}
	}
	if n > w.Capacity {
		c.fail("worker %s has %d runs, and room for %d, with run %s", w.Name, n, w.Capacity, r.Name())
	}
}

// compare checks the step from one version of a run to the next.
func (c *checker) compare(old, r *job.Run) {
	name := r.Name()
	switch {
	case old.State.Terminal():
		c.fail("run %s was %s and is %s", name, old.State, r.State)
	case r.Attempt < old.Attempt-1:
		c.fail("run %s: attempt %d after %d", name, r.Attempt, old.Attempt)
	case old.State == job.Running && r.State == job.Armed: // lost, and assigned again in the same decision
	case old.State != r.State && !old.State.CanBecome(r.State):
		c.fail("run %s: %s after %s", name, r.State, old.State)
	}
	if old.Reason == r.Reason && old.State == r.State && old.State == job.Pending && (old.Cancel == nil) == (r.Cancel == nil) &&
		old.Ahead == r.Ahead && old.Copied == r.Copied { // the slot of a run that was taken back is decided again
		c.fail("run %s was written without a change: %s", name, describe(r))
	}
	for i := 1; i < len(r.Attempts); i++ {
		if r.Attempts[i].Token <= r.Attempts[i-1].Token {
			c.fail("run %s: tokens of its attempts do not rise: %+v", name, r.Attempts)
		}
	}
}

// decision checks a decision that is about to take effect.
func (c *checker) decision(d job.Decision) {
	s := c.sim.store
	if d.Run != nil && d.Run.Rev == 0 {
		name := d.Run.Name()
		if old := c.runs[name]; old != nil && c.sim.tampered[d.Job] && s.run(name) == nil && !c.garbage[name] {
			delete(c.runs, name) // the run left history, and the cursor was changed by hand
			delete(c.created, name)
		}
		if c.created[name]++; c.created[name] > 1 {
			c.fail("slot %s has a second run", name)
		}
		c.wasNotSkipped(d.Run)
	}
	for _, r := range d.Deletions {
		if !s.run(r.Name()).State.Terminal() {
			c.fail("run %s is removed, but has not ended", r.Name())
		}
	}
	if d.Cursor != nil {
		c.cursor(d)
	}
}

// cursor checks that a cursor moves forward, and only past slots with a run or a reason.
func (c *checker) cursor(d job.Decision) {
	s := c.sim.store
	if e := d.Event; e != nil && e.Reason != "" {
		c.skips[d.Job] = append(c.skips[d.Job], e)
	}
	j := s.job(d.Job)
	if j == nil || j.Rev != d.JobRev {
		c.fail("cursor of %s is moved by an old definition", d.Job)
		return
	}
	if j.Spec.Step() {
		c.stepCursor(j, d)
		return
	}
	if w := c.sim; w.tampered[d.Job] && s.cursor(d.Job) == nil {
		return // the old value of the cursor is lost
	}
	when, err := policy.When(j.Name, j.Spec)
	if err != nil {
		c.fail("%v", err)
		return
	}
	start := scheduledAfter(j)
	from := start
	if old := s.cursor(d.Job); old != nil {
		from = old.After
		if d.Cursor.After.Before(from) {
			c.fail("cursor of %s goes back from %v to %v", d.Job, from, d.Cursor.After)
		}
	}
	since := start
	if old := s.cursor(d.Job); old == nil || old.Generation >= j.SinceGeneration {
		since = job.Later(from, since) // otherwise it is the first move under this schedule
	}
	from = since
	for slot, ok := when.Next(from); ok && !slot.After(d.Cursor.After); slot, ok = when.Next(slot) {
		name := d.Job + "/" + job.SlotID(slot)
		e := d.Event
		skipped := e != nil && e.Reason != "" && covers(slot)(e)
		if here := d.Run != nil && d.Run.Name() == name; !here && !slices.ContainsFunc(c.skips[d.Job], covers(slot)) && c.runs[name] == nil && !c.garbage[name] {
			c.fail("slot %s has neither a run nor a reason", name)
		}
		if skipped && e.Reason == "paused" && !c.paused(j, slot, when.Offset()) {
			c.fail("slot %s is skipped as paused, but lies in no pause", name)
		}
		if skipped && d.Job == "all" && e.Reason != "paused" {
			c.fail("slot %s is skipped: %s", name, e.Reason)
		}
	}
	if next, _ := when.Next(d.Cursor.After); !next.Equal(d.Cursor.Next) {
		c.fail("cursor of %s: next is %v, want %v", d.Job, d.Cursor.Next, next)
	}
}

// scheduledAfter returns the slot after which the job's schedule applies. A schedule that replaced another one applies to slots
// that were not due at the change.
func scheduledAfter(j *job.Job) time.Time {
	if j.SinceGeneration == 1 {
		return j.Scheduled
	}
	return job.Later(j.Created, j.Scheduled.Add(-schedule.Offset(j.Name, j.Jittered.Std())))
}

// covers returns a function that reports whether an event skipped slot.
func covers(slot time.Time) func(*job.Event) bool {
	return func(e *job.Event) bool { return !slot.Before(e.From) && !slot.After(e.To) }
}

// verify checks the final state, some minutes after the last fault.
func (c *checker) verify(w *sim) []error {
	healed := w.now.Add(-30 * time.Second)
	for _, r := range w.store.runs() {
		c.expired(r, healed)
		if !r.State.Terminal() && r.Due.Before(healed) && !job.Later(r.Created, r.Due).After(healed) && !c.behind(r.Job, healed) {
			c.fail("run %s is stuck: %s", r.Name(), describe(r))
		}
	}
	for _, ch := range w.store.snapshot() {
		if j := job.ValueOf[job.Job](ch); j != nil {
			c.decided(j, healed)
		}
	}
	c.stepsDecided(healed)
	c.lateRecorded(w.now.Add(-healing))
	c.explained()
	for name, r := range c.runs {
		paused := r.State == job.Skipped && r.Reason == "paused" // armed ahead and taken back
		if w.roomy && r.Job == "all" && r.State != job.Succeeded && r.Due.Before(healed) && !c.costTooMuch(r) && !paused {
			c.fail("slot %s ended %s", name, describe(r))
		}
	}
	if w.leader == nil {
		c.fail("no replica leads")
	}
	return c.errs
}

// costTooMuch reports whether a run was lost because MaxLost workers were lost during its attempts.
func (c *checker) costTooMuch(r *job.Run) bool { return r.WorkersLost() >= policy.MaxLost }

// behind reports whether the job still catches up: its runs take longer than its period, or wait for limits of other jobs.
func (c *checker) behind(name string, healed time.Time) bool {
	spec := c.sim.spec(name)
	if name == "all" || spec == nil || spec.Overlap == job.OverlapAllow {
		return false
	}
	for _, r := range c.runs {
		shared := slices.ContainsFunc(r.Limits, func(limit string) bool { return slices.Contains(spec.Limits, limit) })
		if (r.Job == name || shared) && r.Ended().After(healed) && r.State != job.Skipped {
			return true
		}
	}
	return false
}

// decided checks that all slots of a job except the latest are decided.
func (c *checker) decided(j *job.Job, healed time.Time) {
	when, err := policy.When(j.Name, j.Spec)
	if err != nil {
		c.fail("%v", err)
		return
	}
	if j.Spec.Step() {
		return
	}
	from := scheduledAfter(j)
	if cursor := c.sim.store.cursor(j.Name); cursor != nil {
		from = job.Later(from, cursor.After)
	}
	next, ok := when.Next(from)
	for ok && (c.runs[j.Name+"/"+job.SlotID(next)] != nil || slices.ContainsFunc(c.skips[j.Name], covers(next))) {
		// The cursor was removed or put back by hand after the last slot, and has not moved since.
		next, ok = when.Next(next)
	}
	if ok && next.Add(when.Offset()).Before(healed) && !c.behind(j.Name, healed) {
		c.fail("slot %s/%s is not decided at %v", j.Name, job.SlotID(next), c.sim.now)
	}
}
