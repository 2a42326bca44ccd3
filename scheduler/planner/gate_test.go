package planner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A decision to arm a run names the revision of the gate's record, in whatever state the record is.
func TestDecisionsNameTheGate(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.worker("w", 10)
	r.lead()
	for _, gate := range []struct {
		what   string
		change job.Change
	}{
		{"resumed", job.Change{Kind: job.RecordGate, Value: &job.Gate{Since: midnight}}},
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

// If the gate's record cannot be read, the feed says which pause applies. Here all jobs are paused.
func TestAGateThatCannotBeReadStaysClosed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 10)
	r.store.put(job.Change{Kind: job.RecordGate, Bad: errors.New("garbage"), Value: &job.Gate{Paused: &job.Pause{Reason: "unreadable"}}})
	r.lead()
	r.now = r.now.Add(time.Minute)
	if ds := r.Plan(r.now, 1); len(ds) > 0 {
		t.Errorf("got %+v, want nothing", ds[0])
	}
	r.store.put(job.Change{Kind: job.RecordGate, Value: &job.Gate{Since: r.now}})
	r.feed()
	r.now = r.now.Add(time.Minute)
	if d := r.plan(); d.Event == nil || d.Event.Reason != "paused" {
		t.Errorf("after the pause: got %+v, want its slot skipped as paused", d)
	}
}

// A pending run of a slot names the gate too: a slot in a pause that the leader does not know yet must not run later.
func TestPendingRunNamesTheGate(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.lead()
	r.store.put(job.Change{Kind: job.RecordGate, Value: &job.Gate{Since: midnight}})
	r.feed()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	if a := r.commit(d); d.Run == nil || d.Run.State != job.Pending || a.Err != nil {
		t.Errorf("got %+v, and then %v, want a pending run", d, a.Err)
	}
}

// A replica that starts while the gate's record is unreadable pauses all jobs. If somebody restores the record by hand, it lacks
// that pause. The slots that have passed meanwhile do not run, not even with overlap: allow.
func TestARestoredGateStartsNoPassedSlots(t *testing.T) {
	for _, by := range []string{"gate", "job"} {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
		r.worker("w", 10)
		pause := &job.Pause{At: r.now}
		was := *r.store.job("j")
		if by == "gate" {
			r.store.put(job.Change{Kind: job.RecordGate, Bad: errors.New("garbage"), Value: &job.Gate{Paused: pause}})
		} else {
			paused, _ := was.SetPause(pause, r.now)
			r.store.putJob(paused)
		}
		r.lead()
		r.now = r.now.Add(10 * time.Minute)
		r.expectNone()
		if by == "gate" {
			r.store.put(job.Change{Kind: job.RecordGate, Value: &job.Gate{}})
		} else {
			r.store.putJob(was)
		}
		r.feed()
		if d := r.plan(); d.Event == nil || d.Event.Count < 8 {
			t.Errorf("after the %s was restored: got %+v, want its slots skipped", by, d)
		}
	}
}

// The clock of the replica that pauses is ahead of the clock of the replica that resumes. A slot between the pause and the time when
// the leader hears of its end runs.
func TestAResumeByASlowClockSkipsNoSlot(t *testing.T) {
	fast, slow := midnight.Add(59800*time.Millisecond), midnight.Add(59700*time.Millisecond)
	for _, all := range []bool{true, false} {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely, Missed: job.MissedNone})
		r.worker("w", 1)
		r.lead()
		gate, _ := job.Gate{}.SetPause(&job.Pause{At: fast}, fast)
		def, _ := r.store.job("j").SetPause(&job.Pause{At: fast}, fast)
		put := func() {
			if all {
				r.store.put(job.Change{Kind: job.RecordGate, Value: new(gate)})
			} else {
				r.store.putJob(def)
			}
			r.feed()
		}
		put()
		r.now = midnight.Add(time.Minute + 100*time.Millisecond)
		gate, _ = gate.SetPause(nil, slow)
		def, _ = def.SetPause(nil, slow)
		put()
		if d := r.plan(); d.Run == nil || d.Run.State != job.Armed {
			t.Errorf("all jobs %v: got %+v, want the slot's run assigned", all, d)
		}
	}
}
