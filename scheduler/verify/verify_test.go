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

func TestASoundStorePasses(t *testing.T) {
	check := func(name string, in verify.Input, slots int) {
		t.Run(name, func(t *testing.T) {
			report := verify.Check(in)
			for _, v := range report.Violations {
				t.Errorf("invariant %d: %s at revision %d: %s", v.Invariant, v.Subject, v.Revision, v.Text)
			}
			if report.Slots < slots {
				t.Errorf("got %d slots looked at, want at least %d", report.Slots, slots)
			}
		})
	}
	in := usual().input()
	check("with all of its log", in, 14)
	for from := range in.Log {
		part := in
		part.Log = in.Log[from:]
		check(fmt.Sprintf("with the log from change %d on", from), part, 0)
	}
	in.Log = nil
	check("without its log", in, 5)

	spread := usual()
	spread.spread(21)
	check("with a run on every worker", spread.input(), 15)

	t.Run("with history pruned by the end of runs", func(t *testing.T) {
		h := usual()
		for h.prune() {
			if report := verify.Check(h.input()); len(report.Violations) > 0 {
				t.Fatalf("with the log: got %+v", report.Violations)
			}
			in := h.input()
			in.Log = nil
			if report := verify.Check(in); len(report.Violations) > 0 {
				t.Fatalf("without the log: got %+v", report.Violations)
			}
		}
	})
	t.Run("with a run that was asked for and is kept while history is pruned", func(t *testing.T) {
		for _, key := range []string{"k", ""} {
			h := usual()
			for n, s := range []job.State{job.Succeeded, job.Failed} {
				asked := job.Run{Job: "tick", ID: fmt.Sprint("id-", n), Kind: job.KindManual, Key: key, Slot: minute(0), Due: minute(0), State: job.Pending, Created: minute(0)}
				asked.Rev = h.write(of(asked))
				h.finish(h.claim(h.arm(asked)), s, 0)
			}
			for n := 1; n <= 12; n++ {
				delete(h.records, "runs/"+h.slotName(n))
			}
			h.log = nil
			if report := verify.Check(h.input()); len(report.Violations) > 0 {
				t.Errorf("key %q: got %+v", key, report.Violations)
			}
		}
	})
	t.Run("with history pruned after a run on a worker whose clock is a day behind", func(t *testing.T) {
		h := newHistory()
		for n := 1; n <= 20; n++ {
			h.fire(n)
		}
		r := h.arm(h.slot(21), h.move(21))
		r = must(r.Claim(r.Rev, r.Due.AddDate(0, 0, -1)))
		r.Rev = h.write(of(r))
		h.finish(r, job.Succeeded, 21-24*60)
		for n := 1; n <= 12; n++ {
			delete(h.records, "runs/"+h.slotName(n))
		}
		h.log = nil
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v", report.Violations)
		}
	})
	t.Run("with attempts that are kept for a breaker while history is pruned", func(t *testing.T) {
		h := newHistory()
		h.write(h.def(func(j *job.Job) {
			j.Spec.Breaker = &job.Breaker{Window: 10, FailureRatio: 0.5, OpenFor: job.Duration(time.Minute)}
		}))
		for n := 1; n <= 60; n++ { // at every second slot, the run before it is active
			if n%2 == 1 {
				h.finish(h.claim(h.arm(h.slot(n), h.move(n))), job.Succeeded, n)
				continue
			}
			r := h.slot(n)
			r.State, r.Reason, r.Finished = job.Skipped, "overlap: run is still active", minute(n)
			h.write(of(r), h.move(n))
			if old := n - 10; old > 0 { // the ten latest runs stay: five succeeded, five skipped
				delete(h.records, "runs/"+h.slotName(old))
			}
			if old := n - 49; old > 0 {
				delete(h.records, "runs/"+h.slotName(old))
			}
		}
		h.log = nil
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v", report.Violations)
		}
		delete(h.records, "runs/"+h.slotName(58))
		if report := verify.Check(h.input()); len(report.Violations) != 1 || report.Violations[0].Invariant != 5 {
			t.Errorf("without a run that cannot have been pruned: got %+v", report.Violations)
		}
	})
	t.Run("with unreadable records", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(3), Bad: errors.New("garbage")})
		h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(21), Bad: errors.New("garbage")})
		h.write(h.move(21)) // this slot has a run, but its record is unreadable
		report := verify.Check(h.input())
		if len(report.Violations) > 0 || len(report.Notes) != 2 {
			t.Errorf("got %+v and %d notes, want no violation and two notes", report.Violations, len(report.Notes))
		}
	})
	t.Run("with an unreadable cursor that was removed by hand", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordCursor, Name: "tick", Bad: errors.New("garbage")})
		h.write(job.Change{Kind: job.RecordCursor, Name: "tick"})
		h.write(h.move(20))
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v, want no violation", report.Violations)
		}
	})
	t.Run("with attempts that were lost and may be repeated", func(t *testing.T) {
		h := usual()
		once := h.def(func(j *job.Job) { j.Generation, j.Spec.Delivery = 2, job.AtMostOnce })
		// The definition was edited while the attempt ran. Its worker uses the definition that it read before the edit.
		r := h.claim(h.arm(h.slot(21), h.move(21)))
		h.write(once)
		r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(21)}, minute(21), "tried again"))
		r.Rev = h.write(of(r))
		h.finish(h.claim(h.arm(r)), job.Succeeded, 21)
		// The work had not begun.
		r = h.lose(22, "the session was over "+job.NotBegun)
		h.finish(h.claim(h.arm(r)), job.Succeeded, 22)
		// This run ended with the lost attempt.
		h.finish(h.claim(h.arm(h.slot(23), h.move(23))), job.Lost, 23)
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v", report.Violations)
		}
	})
	t.Run("runs that may overlap begin in any order", func(t *testing.T) {
		allow := func(j *job.Job) { j.Generation, j.Spec.Overlap = 2, job.OverlapAllow }
		h := usual()
		h.write(h.def(allow))
		of2 := func(n int) job.Run { r := h.slot(n); r.Generation = 2; return r }
		a, b, c := h.arm(of2(21), h.move(21)), h.arm(of2(22), h.move(22)), h.arm(of2(23), h.move(23))
		h.finish(h.claim(b), job.Succeeded, 22)
		h.write(h.def(func(j *job.Job) { allow(j); j.Generation, j.Spec.Overlap = 3, job.OverlapSkip }))
		h.finish(h.claim(c), job.Succeeded, 23)
		h.finish(h.claim(a), job.Succeeded, 23)
		in := h.input()
		for from := range in.Log {
			part := in
			part.Log = in.Log[from:]
			if report := verify.Check(part); len(report.Violations) > 0 {
				t.Fatalf("got %+v", report.Violations)
			}
		}
	})
	t.Run("a next slot that was moved by hand", func(t *testing.T) {
		h := usual()
		moved := h.move(21)
		moved.Value.(*job.Cursor).Next = minute(40)
		h.finish(h.claim(h.arm(h.slot(21), moved)), job.Succeeded, 21)
		report := verify.Check(h.input())
		want := "tick: the next slot in its cursor is " + job.SlotID(minute(40)) + ", but its schedule has " + job.SlotID(minute(22)) +
			"; the leader follows the schedule"
		if len(report.Violations) > 0 || !slices.Contains(report.Notes, want) {
			t.Errorf("got %+v and notes %q, want %q", report.Violations, report.Notes, want)
		}
	})
	t.Run("without a leader", func(t *testing.T) {
		h := usual()
		h.write(of(job.Run{Job: "tick", ID: "01waits", Kind: job.KindManual, Slot: minute(30), Due: minute(30), State: job.Pending, Created: minute(30)}))
		if report := verify.Check(h.input()); len(report.Violations) > 0 || len(report.Notes) != 1 {
			t.Errorf("got %+v, %v; want only a note", report.Violations, report.Notes)
		}
	})
	t.Run("a job that was deleted and created again", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordJob, Name: "tick"}, job.Change{Kind: job.RecordCursor, Name: "tick"})
		h.write(h.def(func(j *job.Job) { j.Created, j.Updated, j.Since = minute(40), minute(40), minute(40) }))
		h.fire(41)
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v", report.Violations)
		}
	})
}

// A cursor that somebody set centuries ahead gives a short report, not billions of lines.
func TestACursorThatIsFarAhead(t *testing.T) {
	h := usual()
	h.write(h.move(200 * 365 * 24 * 60))
	n := len(verify.Check(h.input()).Violations)
	if n == 0 || n > 1000 {
		t.Errorf("got %d violations, want some hundreds", n)
	}
}

// A note names the key as etcdctl knows it.
func TestUnreadableRecordsAreNoted(t *testing.T) {
	in := usual().input()
	in.Records = append(in.Records, job.Change{Key: "/rota/what/ever", Bad: errors.New("no records belong here")})
	report := verify.Check(in)
	if want := "/rota/what/ever is unreadable and quarantined: no records belong here"; !slices.Contains(report.Notes, want) {
		t.Errorf("got notes %q, want %q", report.Notes, want)
	}
}
