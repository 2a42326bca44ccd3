package policy_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// TestTheNextSlotIsTheOneThatTheLeaderDecides checks slots whose jitter moves them past an edit or a pause.
func TestTheNextSlotIsTheOneThatTheLeaderDecides(t *testing.T) {
	minute := func(n int) time.Time { return time.Date(2026, 11, 21, 2, n, 0, 0, time.UTC) }
	spec := job.Spec{Every: job.Duration(2 * time.Minute), Jitter: job.Duration(time.Hour), Shell: "true"}
	j, _ := job.Define(nil, "often", spec, job.Origin{}, minute(0)) // its jitter is 12 minutes and some seconds
	spec.Every = job.Duration(time.Minute)
	j, _ = job.Define(&j, "often", spec, job.Origin{}, minute(5))
	pause := func(from, until int) {
		j, _ = j.SetPause(&job.Pause{At: minute(from)}, minute(from))
		j, _ = j.SetPause(nil, minute(until))
	}
	check := func(after, want int) {
		t.Helper()
		when, err := policy.When(j.Name, j.Spec)
		if err != nil {
			t.Fatal(err)
		}
		next, ok := policy.NextSlot(&j, when, &job.Cursor{After: minute(after)}, &job.Gate{})
		if !ok || !next.Equal(minute(want)) {
			t.Errorf("got %v, %t, want %v", next, ok, minute(want))
		}
	}
	check(0, 1)
	pause(6, 8)
	check(0, 1)
	check(6, 9)

	when, _ := policy.When(j.Name, j.Spec)
	if next, ok := policy.NextSlot(&j, when, nil, &job.Gate{}); !ok || !next.Equal(minute(1)) {
		t.Errorf("without a cursor: got %v, %t, want %v", next, ok, minute(1))
	}
}
