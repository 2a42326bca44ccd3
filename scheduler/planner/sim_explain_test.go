package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// explained checks that what rota explains about each slot of each job is what the planner has done.
func (c *checker) explained() {
	for _, ch := range c.sim.store.snapshot() {
		if j := job.ValueOf[job.Job](ch); j != nil && !j.Spec.Step() && !c.sim.tampered[j.Name] {
			c.explainedJob(j)
		}
	}
}

func (c *checker) explainedJob(j *job.Job) {
	when, err := policy.When(j.Name, j.Spec)
	if err != nil {
		c.fail("%v", err)
		return
	}
	w := c.sim
	f := explain.Facts{Job: j, When: when, Gate: w.store.gate(), Cursor: w.store.cursor(j.Name), Leader: "r0", Now: w.now}
	for _, e := range c.skips[j.Name] {
		f.Events = append(f.Events, *e)
	}
	for _, r := range w.store.runs() {
		if r.Job == j.Name && !r.State.Terminal() {
			f.Active = append(f.Active, r)
		}
	}
	for slot, ok := when.Next(scheduledAfter(j)); ok && slot.Before(w.now.Add(time.Minute)); slot, ok = when.Next(slot) {
		name := j.Name + "/" + job.SlotID(slot)
		f.Run = w.store.run(name)
		a := explain.Explain(f, slot)
		if why := c.wrong(f, slot, a); why != "" && !c.garbage[name] {
			c.fail("rota explains slot %s as %q, but %s: %q", name, a.Verdict, why, a.Text)
		}
	}
}

// wrong says why an answer is wrong; "" if it is right.
func (c *checker) wrong(f explain.Facts, slot time.Time, a explain.Answer) string {
	paused := c.paused(f.Job, slot, f.When.Offset())
	removed := c.runs[f.Job.Name+"/"+job.SlotID(slot)] != nil && f.Run == nil
	is := func(verdicts ...string) bool { return slices.Contains(verdicts, a.Verdict) }
	switch {
	case !a.Slot.Equal(slot) && !is("not scheduled"):
		return "the answer is about " + job.SlotID(a.Slot)
	case f.Run != nil && f.Run.State == job.Succeeded && !is("ran", "ran late"):
		return "it succeeded"
	case f.Run != nil:
		if f.Run.State != job.Succeeded && !is(string(f.Run.State)) {
			return "it is " + string(f.Run.State)
		}
	case slices.ContainsFunc(c.skips[f.Job.Name], covers(slot)):
		if !is("skipped") {
			return "it was skipped"
		}
	case is("not scheduled") && !paused:
		return "the job has it"
	case f.Cursor.Passed(slot) && !removed && !is("not scheduled"):
		return "it has no record"
	case f.Cursor.Passed(slot):
	case slot.Add(f.When.Offset()).After(f.Now) && !is("upcoming", "paused", "not scheduled"):
		return "it is not due yet"
	case !slot.Add(f.When.Offset()).After(f.Now) && !is("waits", "paused", "not scheduled"):
		return "it is due"
	}
	return ""
}
