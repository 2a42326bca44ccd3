package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The planner does not trust the next slot in a cursor: its writer may have had other time zone rules.
func TestNextSlotOfACursorIsComputed(t *testing.T) {
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
				r.store.put(job.Change{Kind: job.RecordCursor, Name: "j", Value: &c})
				if !jobFirst {
					r.define("j", job.Spec{Every: minutely})
				}
				r.lead()
				r.expectNone()
				r.now = midnight.Add(30 * time.Second)
				r.expectNone()
				if at, ok := r.Next(); !ok || !at.Equal(midnight.Add(time.Minute)) {
					t.Errorf("Next = %v, %t, want the slot", at, ok)
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
						t.Errorf("another slot is decided: %+v", d)
					}
				}
			})
		}
	}
}

func TestOldChangeIsIgnored(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	armed := *r.store.run(d.Run.Name())
	cursor := *r.store.cursor("j")
	claimed := r.claim(d.Run.Name(), 0)
	old := claimed
	done, _ := claimed.Finish(job.Outcome{State: job.Succeeded, At: r.now})
	if _, err := r.store.writeRun(done); err != nil {
		t.Fatal(err)
	}
	r.feed()
	r.Apply(job.Change{Kind: job.RecordRun, Name: old.Name(), Rev: old.Rev, Value: &old}, r.now)
	r.Apply(job.Change{Kind: job.RecordRun, Name: old.Name(), Rev: armed.Rev, Value: &armed}, r.now)

	r.now = r.now.Add(time.Minute)
	d = r.plan()
	if d.Run.State != job.Armed {
		t.Fatalf("got %s: want the slot armed, since the run before it has ended", describe(d.Run))
	}
	r.Resolve(d, r.commit(d), r.now)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: cursor.Rev, Value: &cursor}, r.now)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: cursor.Rev}, r.now)
	r.expectNone()
}

func TestConflictShowsTheCursor(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	other := d
	other.Run = nil
	if a := r.commit(other); a.Err != nil { // the request of an earlier leader arrives
		t.Fatal(a.Err)
	}
	a := r.commit(d)
	if a.Err == nil {
		t.Fatal("a slot was decided twice")
	}
	r.Resolve(d, a, r.now)
	r.now = r.now.Add(time.Second)
	r.expectNone() // although the feed has brought nothing
}

func TestDecisionOfADeletedJobLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.store.deleteJob("j")
	r.feed()
	r.Resolve(d, r.commit(d), r.now)
	if r.Knows("j") {
		t.Error("the planner still has a state for the job")
	}
	r.now = r.now.Add(time.Hour)
	r.expectNone()
	if next, ok := r.Next(); ok {
		t.Errorf("Next = %v, want no time", next)
	}
}

func TestRecreatedJobHasItsOwnSchedule(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	// The watch breaks. The feed reports only the difference: the generation is 1 again.
	r.store.deleteJob("j")
	r.define("j", job.Spec{Every: job.Duration(time.Hour), Overlap: job.OverlapAllow})
	r.fed = len(r.store.log)
	r.Apply(job.Change{Kind: job.RecordCursor, Name: "j", Rev: r.store.rev}, r.now)
	c := r.store.records[recordKey{job.RecordJob, "j"}]
	r.Apply(c, r.now)
	r.now = midnight.Add(59 * time.Minute)
	for _, d := range r.Plan(r.now, 10) {
		if d.Cursor != nil {
			t.Errorf("a slot of the old schedule is decided: %+v", d)
		}
	}
}

func TestAnswerOlderThanTheFeedIsIgnored(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(time.Minute)
	d = r.plan()
	r.store.putJob(*r.store.job("j")) // this makes the store refuse d
	a := r.commit(d)
	r.store.remove(job.RecordCursor, "j") // an operator deletes the cursor after that
	r.feed()
	r.Resolve(d, a, r.now)
	r.now = r.now.Add(time.Minute)
	d = r.plan()
	if d.Cursor == nil {
		t.Fatalf("got %+v, want the next slot decided", d)
	}
	if a := r.commit(d); a.Err != nil {
		t.Errorf("the decision is refused: %v, it names revision %d of a cursor that is gone", a.Err, d.Cursor.Rev)
	}
}

// A follower learns that a pause is over. As soon as it leads it records the slots of the pause, although no slot is due.
func TestFollowerKnowsSkippedSlots(t *testing.T) {
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
	r.expectNone() // this replica does not lead
	r.lead()
	d := r.plan()
	if d.Event == nil || d.Event.Reason != "paused" || !d.Event.From.Equal(midnight.Add(time.Minute)) || d.Event.Count != 1 {
		t.Fatalf("got %+v, want the slot of the pause skipped", d.Event)
	}
}

// A feed may never report a record that a leader wrote and that was deleted. After a gap it reports the difference of two
// lists. Then only refusals show the deletion.
func TestUnreportedDeletionIsNoticed(t *testing.T) {
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
	for name, remove := range map[string]func(r *rig){
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
			remove(r)
			r.fed = len(r.store.log)
			r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapQueue})
			r.worker("w", 10)
			r.feed()
			r.now = r.now.Add(time.Minute)
			if !play(r) {
				t.Fatal("decisions name deleted records and are refused for ever")
			}
		})
	}
}

// TestAnUnreportedDeletionOfTheRunInTheWay deletes a run for which slots are skipped, and the feed never reports it. The skip
// depends on the record of that run.
func TestAnUnreportedDeletionOfTheRunInTheWay(t *testing.T) {
	r := newRig(t)
	spec := job.Spec{Every: minutely, Overlap: job.OverlapSkip, Approve: &job.Approve{}}
	r.define("j", spec)
	r.lead()
	decided := func() (last string) {
		for range 70 {
			for _, d := range r.Plan(r.now, 10) {
				a := r.commit(d)
				r.Resolve(d, a, r.now)
				if a.Err == nil && d.Run != nil {
					last = string(d.Run.State)
				}
			}
			r.now = r.now.Add(time.Second)
		}
		return last
	}
	if got := decided(); got != "pending" { // it waits for an approval
		t.Fatalf("the first slot is %q", got)
	}
	r.feed()
	for _, run := range r.store.runs() {
		r.store.remove(job.RecordRun, run.Name())
	}
	r.fed = len(r.store.log)
	if got := decided(); got != "pending" {
		t.Errorf("the next slot is %q, want a run that waits for its approval", got)
	}
}
