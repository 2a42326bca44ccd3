package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

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
		{"a running attempt moves to another worker", 3, func(h *history) {
			r := h.claim(h.arm(h.slot(21), h.move(21)))
			r.Worker = "w2"
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
		{"a run on every worker has no copies and succeeds", 3, func(h *history) {
			r, _ := h.spread(21)
			r.Copies = nil
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a copy moves to another worker", 6, func(h *history) {
			_, c := h.spread(21)
			c.Attempts = slices.Clone(c.Attempts)
			c.Attempts[0].Worker = "w2"
			h.records["runs/"+c.Name()] = of(c)
		}},
		{"a copy on a worker that was not chosen", 1, func(h *history) {
			r, _ := h.spread(21)
			r.Copies = []string{"w2"}
			h.records["runs/"+r.Name()] = of(r)
		}},
		{"a run succeeded whose copy failed", 6, func(h *history) {
			_, c := h.spread(21)
			c.State, c.Attempts = job.Failed, slices.Clone(c.Attempts)
			c.Attempts[0].State = job.Failed
			h.records["runs/"+c.Name()] = of(c)
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
