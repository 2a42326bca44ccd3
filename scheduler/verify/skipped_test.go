package verify_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

// TestARunIsSkippedAfterAnAttemptThatDidNotBegin checks runs that start_within skips. If an attempt was lost before it began, the
// run may be skipped. If an attempt had begun, it may not.
func TestARunIsSkippedAfterAnAttemptThatDidNotBegin(t *testing.T) {
	for reason, sound := range map[string]bool{"worker q1 was lost " + job.NotBegun: true, "worker q1 was lost": false} {
		h := usual()
		r := job.Run{Job: "tick", ID: "id", Kind: job.KindManual, Slot: minute(21), Due: minute(21), State: job.Pending}
		r.Created = minute(21)
		r.Rev = h.write(of(r))
		r = h.claim(h.arm(r))
		r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(22), Reason: reason}, minute(30), "tried again"))
		r.Rev = h.write(of(r))
		r = must(r.Skip("waited longer than 5m", minute(26)))
		h.write(of(r))
		if got := verify.Check(h.input()).Violations; (len(got) == 0) != sound {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
}
