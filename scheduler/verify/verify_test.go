package verify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return epoch.Add(time.Duration(n) * time.Minute) }

// history makes the log of a store, as a sound cluster does.
type history struct {
	rev     int64
	log     [][]job.Change
	records map[string]job.Change // by kind and name
	cursor  job.Cursor
	term    int64
}

func newHistory() *history {
	h := &history{records: map[string]job.Change{}, term: 2, rev: 2}
	h.write(h.def(nil))
	return h
}

// def is the definition of the only job, every minute, changed.
func (h *history) def(change func(*job.Job)) job.Change {
	j := &job.Job{
		Name: "tick", Generation: 1, Created: epoch, Updated: epoch, Since: epoch, SinceReason: job.SinceCreated,
		Spec: new(job.Spec{Every: job.Duration(time.Minute), Command: []string{"true"}}.WithDefaults()),
	}
	if change != nil {
		change(j)
	}
	return job.Change{Kind: job.RecordJob, Name: j.Name, Value: j}
}

// write is one transaction.
func (h *history) write(changes ...job.Change) int64 {
	h.rev++
	for i := range changes {
		c := &changes[i]
		c.Rev = h.rev
		key := string(c.Kind) + "/" + c.Name
		switch v := c.Value.(type) {
		case *job.Job:
			v.Rev = h.rev
		case *job.Run:
			r := *v
			r.Rev = h.rev
			c.Value = &r
		case *job.Cursor:
			cur := *v
			cur.Rev = h.rev
			c.Value = &cur
			h.cursor = cur
		}
		if c.Deleted() {
			delete(h.records, key)
			continue
		}
		c.Key, c.Create = "/rota/"+key, h.rev
		if before, ok := h.records[key]; ok {
			c.Create = before.Create
		}
		h.records[key] = *c
	}
	h.log = append(h.log, changes)
	return h.rev
}

func of(r job.Run) job.Change { return job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r} }

func (h *history) move(n int) job.Change {
	return job.Change{Kind: job.RecordCursor, Name: "tick", Value: &job.Cursor{Job: "tick", After: minute(n), Next: minute(n + 1), Generation: 1, Term: h.term}}
}

func (h *history) skip(from, to int) job.Change {
	e := &job.Event{ID: fmt.Sprint("e", from), Kind: job.EventSkipped, Job: "tick", At: minute(to), Reason: "missed", From: minute(from), To: minute(to), Count: to - from + 1, Term: h.term}
	return job.Change{Kind: job.RecordEvent, Name: "tick/" + e.ID, Value: e}
}

func (h *history) slot(n int) job.Run {
	return job.Run{Job: "tick", ID: job.SlotID(minute(n)), Kind: job.KindScheduled, Slot: minute(n), Due: minute(n), State: job.Pending,
		Reason: "no worker has room", Created: minute(n), Generation: 1, Term: h.term}
}

var w1 = &job.Worker{Name: "w1", Session: "s1"}

func must(r job.Run, err error) job.Run {
	if err != nil {
		panic(err)
	}
	return r
}

// arm gives a run to the worker.
func (h *history) arm(r job.Run, more ...job.Change) job.Run {
	r = must(r.Assign(w1))
	r.Term = h.term
	r.Rev = h.write(append([]job.Change{of(r)}, more...)...)
	return r
}

func (h *history) claim(r job.Run) job.Run {
	r = must(r.Claim(r.Rev, r.Due))
	r.Rev = h.write(of(r))
	return r
}

func (h *history) finish(r job.Run, s job.State, n int) job.Run {
	r = must(r.Finish(job.Outcome{State: s, At: minute(n).Add(10 * time.Second)}))
	r.Rev = h.write(of(r))
	return r
}

// lose loses the worker of a slot's run, which is tried again.
func (h *history) lose(n int, reason ...string) job.Run {
	r := h.slot(n)
	if def := job.ValueOf[job.Job](h.records["jobs/tick"]); def != nil {
		r.Generation = def.Generation
	}
	r = h.claim(h.arm(r, h.move(n)))
	r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(n), Reason: strings.Join(reason, "")}, minute(n), "tried again"))
	r.Rev = h.write(of(r))
	return r
}

// fire is the usual life of a slot.
func (h *history) fire(n int) job.Run {
	return h.finish(h.claim(h.arm(h.slot(n), h.move(n))), job.Succeeded, n)
}

func (h *history) input() verify.Input {
	in := verify.Input{Log: h.log, Now: minute(1000)}
	for _, c := range h.records {
		in.Records = append(in.Records, c)
	}
	return in
}

// usual is a history of all that happens.
func usual() *history {
	h := newHistory()
	for n := 1; n <= 3; n++ {
		h.fire(n)
	}
	// Slot 4 fails and is tried again, slot 5 loses its worker, slots 6 to 8 are missed, 9 is skipped for overlap.
	r := h.claim(h.arm(h.slot(4), h.move(4)))
	r = must(r.Requeue(job.Outcome{State: job.Failed, At: minute(4)}, minute(4), "retry 1 of 3"))
	r.Rev = h.write(of(r))
	h.finish(h.claim(h.arm(r)), job.Succeeded, 5)
	r = h.claim(h.arm(h.slot(5), h.move(5)))
	h.rev++
	h.term = h.rev // another leader, which hands it over in one write
	r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(5)}, minute(5), "its worker was lost"))
	h.finish(h.claim(h.arm(r)), job.Failed, 8)
	h.write(h.skip(6, 8), h.move(8))
	r = h.slot(9)
	r.State, r.Finished = job.Skipped, minute(9)
	h.write(of(r), h.move(9))
	h.write(h.def(func(j *job.Job) { j.Paused = &job.Pause{At: minute(9)} }))
	h.write(h.def(func(j *job.Job) { j.Since, j.SinceReason = minute(11), job.SinceResumed }))
	h.write(h.skip(10, 11), h.move(11))
	for n := 12; n <= 20; n++ {
		h.fire(n)
	}
	manual := job.Run{Job: "tick", ID: "01abc", Kind: job.KindManual, Slot: minute(20), Due: minute(20), State: job.Pending, Created: minute(20)}
	manual.Rev = h.write(of(manual))
	h.finish(h.claim(h.arm(manual)), job.Canceled, 20)
	return h
}

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
		for n := 1; n <= 60; n++ { // every other slot finds the run before it at work
			if n%2 == 1 {
				h.finish(h.claim(h.arm(h.slot(n), h.move(n))), job.Succeeded, n)
				continue
			}
			r := h.slot(n)
			r.State, r.Reason, r.Finished = job.Skipped, "overlap: run is still active", minute(n)
			h.write(of(r), h.move(n))
			if old := n - 10; old > 0 { // five of either sort are among the ten that are kept
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
	t.Run("with records that nobody can read", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(3), Bad: errors.New("garbage")})
		h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(21), Bad: errors.New("garbage")})
		h.write(h.move(21)) // its place is taken
		report := verify.Check(h.input())
		if len(report.Violations) > 0 || len(report.Notes) != 2 {
			t.Errorf("got %+v and %d notes, want no violation and two notes", report.Violations, len(report.Notes))
		}
	})
	t.Run("with a cursor that nobody could read and somebody removed", func(t *testing.T) {
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
		// The definition was edited while the attempt ran: its worker goes by what it has read.
		r := h.claim(h.arm(h.slot(21), h.move(21)))
		h.write(once)
		r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(21)}, minute(21), "tried again"))
		r.Rev = h.write(of(r))
		h.finish(h.claim(h.arm(r)), job.Succeeded, 21)
		// The work had not begun.
		r = h.lose(22, "the session was over "+job.NotBegun)
		h.finish(h.claim(h.arm(r)), job.Succeeded, 22)
		// It was lost for good.
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
	t.Run("while nobody leads", func(t *testing.T) {
		h := usual()
		h.write(of(job.Run{Job: "tick", ID: "01waits", Kind: job.KindManual, Slot: minute(30), Due: minute(30), State: job.Pending, Created: minute(30)}))
		if report := verify.Check(h.input()); len(report.Violations) > 0 || len(report.Notes) != 1 {
			t.Errorf("got %+v, %v; want only a note", report.Violations, report.Notes)
		}
	})
	t.Run("a job that was deleted and made anew", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordJob, Name: "tick"}, job.Change{Kind: job.RecordCursor, Name: "tick"})
		h.write(h.def(func(j *job.Job) { j.Created, j.Updated, j.Since = minute(40), minute(40), minute(40) }))
		h.fire(41)
		if report := verify.Check(h.input()); len(report.Violations) > 0 {
			t.Errorf("got %+v", report.Violations)
		}
	})
}

func (h *history) slotName(n int) string { return "tick/" + job.SlotID(minute(n)) }

// forge writes the token of a slot's run that has ended anew, so long ago that no log knows of it.
func (h *history) forge(n int, token int64) {
	r := h.fire(n)
	change := h.records["runs/"+r.Name()]
	r.Attempts = slices.Clone(r.Attempts)
	r.Token, r.Attempts[0].Token = token, token
	change.Value = &r
	h.records["runs/"+r.Name()], h.log = change, nil
}

// prune removes the run that went well and ended first, and says whether there was one to spare.
func (h *history) prune() bool {
	var first *job.Run
	n := 0
	for _, c := range h.records {
		if r := job.ValueOf[job.Run](c); r != nil && (r.State == job.Succeeded || r.State == job.Skipped) {
			if n++; first == nil || r.Finished.Before(first.Finished) {
				first = r
			}
		}
	}
	if n < 2 {
		return false
	}
	h.write(job.Change{Kind: job.RecordRun, Name: first.Name()})
	return true
}

func TestCorruptionIsFound(t *testing.T) {
	for _, tc := range []struct {
		name      string
		invariant int
		corrupt   func(h *history)
	}{
		{"a slot is run again after its run was pruned", 1, func(h *history) {
			h.write(job.Change{Kind: job.RecordRun, Name: h.slotName(1)})
			h.write(of(h.slot(1)))
		}},
		{"an ended run is changed", 1, func(h *history) {
			r := h.fire(21)
			r.State = job.Failed
			h.write(of(r))
		}},
		{"a run has another slot's name", 1, func(h *history) {
			r := h.slot(21)
			r.Slot = minute(22)
			h.write(of(r), h.move(22))
		}},
		{"attempts are forgotten", 1, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			r = must(r.Requeue(job.Outcome{State: job.Failed, At: minute(21)}, minute(21), "retry"))
			h.write(of(r))
			r.Attempts = nil
			h.write(of(r))
		}},
		{"a deposed leader moves a cursor", 2, func(h *history) {
			h.term = 2
			h.fire(21)
		}},
		{"a deposed leader skips slots", 2, func(h *history) {
			e := h.skip(21, 22)
			e.Value.(*job.Event).Term = 2
			h.write(e, h.move(22))
		}},
		{"a cursor names a term of the future", 2, func(h *history) { h.term = 1 << 40; h.write(of(h.slot(21)), h.move(21)) }},
		{"a run names a term of the future", 2, func(h *history) { r := h.slot(21); r.Term = 1 << 40; h.write(of(r), h.move(21)) }},
		{"a claim with another token", 3, func(h *history) {
			r := h.arm(h.slot(21), h.move(21))
			r.Rev--
			h.claim(r)
		}},
		{"a token changes while the attempt runs", 3, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			r.Token++
			h.write(of(r))
		}},
		{"a lost worker's outcome is taken for another attempt's", 3, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			r.Token -= 2
			h.finish(r, job.Succeeded, 21)
		}},
		{"a run that was never claimed", 3, func(h *history) {
			r := h.arm(h.slot(21), h.move(21))
			r.State = job.Running
			h.write(of(r))
		}},
		{"tokens fall from one run of a job to the next", 4, func(h *history) {
			a, b := h.arm(h.slot(21), h.move(21)), h.arm(h.slot(22), h.move(22))
			h.finish(h.claim(b), job.Succeeded, 22)
			h.finish(h.claim(a), job.Succeeded, 22)
		}},
		{"two runs have one token", 4, func(h *history) {
			a, b := h.fire(21), h.fire(22)
			b.Attempts = slices.Clone(b.Attempts)
			b.Attempts[0].Token = a.Attempts[0].Token
			h.records["runs/"+b.Name()] = of(b)
		}},
		{"tokens fall along a run", 4, func(h *history) {
			r := h.fire(21)
			r.Attempts = append(slices.Clone(r.Attempts), job.Attempt{Number: 2, Token: r.Token - 1, State: job.Succeeded})
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"the token of an ended run is lowered", 4, func(h *history) { h.forge(21, 2) }},
		{"the token of an ended run is raised", 4, func(h *history) { h.forge(21, 1<<40) }},
		{"a cursor goes back", 5, func(h *history) { h.write(h.move(19)) }},
		{"a cursor is removed", 5, func(h *history) {
			h.write(job.Change{Kind: job.RecordCursor, Name: "tick"})
			h.write(h.move(20))
		}},
		{"a cursor passes slots without a reason", 5, func(h *history) { h.write(h.move(25)) }},
		{"a cursor passes a slot beside those that were skipped", 5, func(h *history) { h.write(h.skip(21, 23), h.move(24)) }},
		{"the first cursor is too far", 5, func(h *history) {
			def := h.def(func(j *job.Job) { j.Since = minute(-3) })
			def.Rev = h.log[0][0].Rev
			h.log[0] = []job.Change{def}
		}},
		{"a run is removed before one that had ended earlier", 5, func(h *history) { h.write(gone(h.slotName(2))...) }},
		{"a run in history is gone", 5, func(h *history) { delete(h.records, "runs/"+h.slotName(15)); h.log = nil }},
		{"a run lies beyond the cursor", 5, func(h *history) { h.write(of(h.slot(21))) }},
		{"a cursor's next slot is behind it", 5, func(h *history) { c := h.move(20); c.Value.(*job.Cursor).Next = minute(20); h.write(c) }},
		{"a run succeeded without an attempt", 3, func(h *history) {
			r := h.fire(21)
			r.Attempts = nil
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a run succeeded whose last attempt failed", 3, func(h *history) {
			r := h.fire(21)
			r.Attempts = slices.Clone(r.Attempts)
			r.Attempts[0].State = job.Failed
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a run ended later than its last attempt", 3, func(h *history) {
			r := h.fire(21)
			r.Finished = minute(30)
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"attempts are out of order", 1, func(h *history) {
			r := h.fire(4)
			r.Attempts = append(slices.Clone(r.Attempts), r.Attempts[0])
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a skipped slot does not say why", 5, func(h *history) {
			r := h.slot(21)
			r.State, r.Finished, r.Reason = job.Skipped, minute(21), ""
			h.write(of(r), h.move(21))
		}},
		{"a run goes on after it succeeded", 6, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			h.write(of(must(r.Requeue(job.Outcome{State: job.Succeeded, At: minute(21)}, minute(21), "again"))))
		}},
		{"a lost attempt is repeated though it must not be, by the record", 6, func(h *history) {
			r := h.lose(21)
			r.Spec = &job.Spec{Command: []string{"true"}, Delivery: job.AtMostOnce}
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a lost attempt is repeated though it must not be, by the log", 6, func(h *history) {
			h.write(h.def(func(j *job.Job) { j.Generation, j.Spec.Delivery = 2, job.AtMostOnce }))
			h.lose(21)
		}},
		{"a run is removed before its end", 7, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			h.write(job.Change{Kind: job.RecordRun, Name: r.Name()})
		}},
		{"a run goes where no arrow leads", 7, func(h *history) {
			r := h.slot(21)
			h.write(of(r), h.move(21))
			r.State, r.Finished = job.Succeeded, minute(21)
			h.write(of(r))
		}},
		{"a run ended at no time", 7, func(h *history) {
			r := h.slot(21)
			r.State = job.Skipped
			h.write(of(r), h.move(21))
		}},
		{"a run waits for nothing", 7, func(h *history) {
			r := h.slot(21)
			r.Reason = ""
			h.write(of(r), h.move(21))
			for n := 22; n < 30; n++ {
				h.fire(n)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := usual()
			tc.corrupt(h)
			var found []string
			for _, v := range verify.Check(h.input()).Violations {
				if v.Invariant == tc.invariant && v.Subject != "" && v.Text != "" {
					return
				}
				found = append(found, fmt.Sprintf("%d %s: %s", v.Invariant, v.Subject, v.Text))
			}
			t.Errorf("invariant %d is not reported, but only:\n%s", tc.invariant, strings.Join(found, "\n"))
		})
	}
}

// A cursor that a hand put centuries ahead is told of in so many words, not in billions.
func TestACursorThatIsFarAhead(t *testing.T) {
	h := usual()
	h.write(h.move(200 * 365 * 24 * 60))
	n := len(verify.Check(h.input()).Violations)
	if n == 0 || n > 1000 {
		t.Errorf("got %d violations, want some hundreds", n)
	}
}

// A note names the key as etcdctl knows it.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	in := usual().input()
	in.Records = append(in.Records, job.Change{Key: "/rota/what/ever", Bad: errors.New("no records belong here")})
	report := verify.Check(in)
	if want := "/rota/what/ever cannot be read and is set aside: no records belong here"; !slices.Contains(report.Notes, want) {
		t.Errorf("got notes %q, want %q", report.Notes, want)
	}
}
