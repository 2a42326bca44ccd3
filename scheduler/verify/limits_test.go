package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

// holder returns an armed run of another job. It holds limits from the transaction that writes it.
func (h *history) holder(name string, limits ...string) job.Run {
	r := job.Run{Job: name, ID: "1", Kind: job.KindManual, Slot: minute(20), Due: minute(20), State: job.Pending, Created: minute(20)}
	r = must(r.Assign(w1))
	r.Limits, r.Term = limits, h.term
	return r
}

func TestHoldersOfALimit(t *testing.T) {
	limit := &job.Limit{Name: "x", Generation: 1, Spec: job.LimitSpec{Concurrent: 1}}
	claimed := func(h *history, rev int64, rs ...job.Run) (out []job.Run) {
		for _, r := range rs {
			r.Rev = rev
			out = append(out, h.claim(r))
		}
		return out
	}
	t.Run("of different transactions are sound", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordLimit, Name: "x", Value: limit})
		for _, name := range []string{"a", "b"} {
			r := h.holder(name, "x", "y")
			h.finish(claimed(h, h.write(of(r)), r)[0], job.Succeeded, 21)
		}
		a, b := h.holder("c", "x"), h.holder("d", "z") // they hold different limits
		claimed(h, h.write(of(a), of(b)), a, b)
		if report := verify.Check(h.input()); len(report.Violations) > 0 || len(report.Notes) > 0 {
			t.Errorf("got %+v, %v", report.Violations, report.Notes)
		}
	})
	t.Run("of one transaction are reported", func(t *testing.T) {
		h := usual()
		h.write(job.Change{Kind: job.RecordLimit, Name: "x", Value: limit})
		a, b := h.holder("a", "y", "x"), h.holder("b", "x")
		rs := claimed(h, h.write(of(a), of(b)), a, b)
		want := func(in verify.Input, n int) {
			t.Helper()
			report := verify.Check(in)
			for _, v := range report.Violations {
				if v.Invariant != 4 || !strings.Contains(v.Text, "limit x") {
					t.Errorf("got %+v", v)
				}
			}
			if len(report.Violations) != n {
				t.Errorf("got %+v, want %d", report.Violations, n)
			}
		}
		want(h.input(), 2)
		in := h.input()
		in.Log = nil
		want(in, 1)
		if notes := fmt.Sprint(verify.Check(in).Notes); !strings.Contains(notes, "limit x is held by 2 runs, but allows 1") {
			t.Errorf("got the notes %s", notes)
		}
		for _, r := range rs {
			h.finish(r, job.Succeeded, 21)
		}
		want(h.input(), 2)
	})
}
