package verify_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

func gone(names ...string) (changes []job.Change) {
	for _, name := range names {
		changes = append(changes, job.Change{Kind: job.RecordRun, Name: name})
	}
	return changes
}

// begin makes the run of a slot begin.
func (h *history) begin(n int) job.Run { return h.claim(h.arm(h.slot(n), h.move(n))) }

// asked writes a run that a client requested, and that succeeded in minute n.
func (h *history) asked(id, key string, n int) job.Run {
	r := job.Run{Job: "tick", ID: id, Kind: job.KindManual, Key: key, Slot: minute(n), Due: minute(n), State: job.Pending, Created: minute(n)}
	r.Rev = h.write(of(r))
	return h.finish(h.claim(h.arm(r)), job.Succeeded, n)
}

// skipSlot writes the run of a slot that was skipped because an earlier run was active.
func (h *history) skipSlot(n int) {
	r := h.slot(n)
	r.State, r.Reason, r.Finished = job.Skipped, "overlap: run is still active", minute(n)
	h.write(of(r), h.move(n))
}

// TestRemovedHistoryIsNoViolation removes records as a cluster may, and begins the log at each change.
func TestRemovedHistoryIsNoViolation(t *testing.T) {
	for _, tc := range []struct {
		name string
		live func(h *history)
	}{
		{"several at a time", func(h *history) {
			for n := 1; n <= 6; n++ {
				h.fire(n)
			}
			h.write(gone(h.slotName(3), h.slotName(1), h.slotName(2))...)
			h.write(gone(h.slotName(5), h.slotName(4))...)
		}},
		{"one that went well, behind one that did not", func(h *history) {
			h.finish(h.begin(1), job.Failed, 1)
			h.fire(2)
			h.fire(3)
			h.write(gone(h.slotName(2))...)
		}},
		{"one that ended with another", func(h *history) {
			a, b := h.begin(1), h.begin(2)
			h.finish(a, job.Succeeded, 5)
			h.finish(b, job.Succeeded, 5)
			h.write(gone(h.slotName(2))...)
		}},
		{"one that ended after one whose end the leader learned later", func(h *history) {
			a := h.begin(1)
			h.fire(2)
			h.finish(a, job.Succeeded, 1)
			h.write(gone(h.slotName(2))...)
		}},
		{"one that ended later than what was asked for", func(h *history) {
			h.asked("k1", "k", 0)
			h.asked("k2", "", 0)
			h.fire(1)
			h.write(gone(h.slotName(1))...)
		}},
		{"what was asked for", func(h *history) {
			h.fire(1)
			h.asked("k1", "k", 2)
			h.write(gone("tick/k1")...)
		}},
		{"one that was skipped, when the leader had not heard of an end", func(h *history) {
			h.fire(1)
			h.skipSlot(2)
			h.skipSlot(3)
			h.write(gone(h.slotName(2))...)
		}},
		{"one that was skipped, while attempts are kept for a breaker", func(h *history) {
			h.write(h.def(func(j *job.Job) {
				j.Generation, j.Spec.Breaker = 2, &job.Breaker{Window: 2, FailureRatio: 0.5, OpenFor: job.Duration(time.Minute)}
			}))
			h.skipSlot(1)
			h.fire(2)
			h.skipSlot(3)
			h.fire(4)
			h.write(gone(h.slotName(1), h.slotName(3))...)
		}},
		{"one that was given up, when the leader had not heard of an end", func(h *history) {
			h.finish(h.begin(1), job.Failed, 1)
			r := must(h.begin(2).Finish(job.Outcome{State: job.Lost, At: minute(3)})).GiveUp()
			h.write(of(r))
			h.write(gone(h.slotName(2))...)
		}},
		{"one that ended after an unreadable one", func(h *history) {
			h.fire(1)
			h.fire(2)
			h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(1), Bad: errors.New("garbage")})
			h.write(gone(h.slotName(2))...)
		}},
		{"the runs of a job that was deleted", func(h *history) {
			for n := 1; n <= 3; n++ {
				h.fire(n)
			}
			h.write(job.Change{Kind: job.RecordJob, Name: "tick"}, job.Change{Kind: job.RecordCursor, Name: "tick"})
			h.write(gone(h.slotName(1))...)
			h.write(gone(h.slotName(2), h.slotName(3))...)
		}},
		{"one of a deleted job, whose slot a new job of that name backfills", func(h *history) {
			h.fire(1)
			h.write(job.Change{Kind: job.RecordJob, Name: "tick"}, job.Change{Kind: job.RecordCursor, Name: "tick"})
			h.write(h.def(func(j *job.Job) { j.Created, j.Updated, j.Since = minute(3), minute(3), minute(3) }))
			h.write(gone(h.slotName(1))...)
			h.backfill(1, 5)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHistory()
			tc.live(h)
			in := h.input()
			for from := range in.Log {
				part := in
				part.Log = in.Log[from:]
				for _, v := range verify.Check(part).Violations {
					t.Errorf("with the log from change %d on: invariant %d: %s at revision %d: %s", from, v.Invariant, v.Subject, v.Revision, v.Text)
				}
			}
		})
	}
}

// backfill runs slot n in minute at.
func (h *history) backfill(n, at int) {
	r := h.slot(n)
	r.Kind, r.Due, r.Created = job.KindBackfill, minute(at), minute(at)
	h.finish(h.claim(h.arm(r)), job.Succeeded, at)
}

// TestASlotThatABackfillRepeats backfills a slot of the present job, whose run history has removed.
func TestASlotThatABackfillRepeats(t *testing.T) {
	h := newHistory()
	h.fire(1)
	h.write(gone(h.slotName(1))...)
	h.backfill(1, 5)
	got := verify.Check(h.input()).Violations
	if len(got) != 1 || got[0].Invariant != 1 || got[0].Subject != h.slotName(1) {
		t.Errorf("got %+v, want one violation of invariant 1", got)
	}
}

// TestRunRemovedByHand checks that the log shows a removal by hand. The records alone cannot show it, because too few
// runs of the same sort are left.
func TestRunRemovedByHand(t *testing.T) {
	h := newHistory()
	h.fire(1)
	h.finish(h.begin(2), job.Failed, 2)
	began := len(h.log)
	h.fire(3)
	h.finish(h.begin(4), job.Failed, 4)
	h.write(gone(h.slotName(3))...)
	h.write(gone(h.slotName(4))...)
	finds := func(t *testing.T, in verify.Input) {
		t.Helper()
		var found []string
		for _, v := range verify.Check(in).Violations {
			found = append(found, fmt.Sprint(v.Invariant, " ", v.Subject))
		}
		if want := []string{"5 " + h.slotName(3), "5 " + h.slotName(4)}; !slices.Equal(found, want) {
			t.Errorf("got %q, want %q", found, want)
		}
	}
	t.Run("when the log begins after those that are left had ended", func(t *testing.T) {
		in := h.input()
		in.Log = in.Log[began:]
		finds(t, in)
	})
	t.Run("when history has removed those, too", func(t *testing.T) {
		h.write(gone(h.slotName(1))...)
		h.write(gone(h.slotName(2))...)
		finds(t, h.input())
	})
}
