package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// TestTheWindowBeginsBehindATrial closes a breaker by a trial. From then on its window has only later attempts, and as many as before.
func TestTheWindowBeginsBehindATrial(t *testing.T) {
	b := &job.Breaker{Window: 2, FailureRatio: 1, OpenFor: job.Duration(time.Minute)}
	var attempts []policy.BreakerAttempt
	for i, failed := range []bool{true, true, false, true, false, true} {
		at := noon.Add(time.Duration(i) * time.Hour)
		attempts = append(attempts, policy.BreakerAttempt{Began: at, Ended: at, Failed: failed})
	}
	if s := breakerAfter(b, attempts[:2]); !s.Open {
		t.Error("two failures do not open it")
	}
	if s := breakerAfter(b, attempts); s.Open {
		t.Errorf("got %+v", s)
	}
}

func TestPaceForgets(t *testing.T) {
	var p policy.Pace
	p.Add("a", 1, noon)
	p.Add("b", 1, hours(1))
	for _, at := range []time.Time{hours(1).Add(-1), hours(1), hours(2)} {
		p.Forget(at, time.Hour)
		if got := p.Empty(); got != at.Equal(hours(2)) {
			t.Errorf("at %v: empty is %v", at, got)
		}
	}
	if p.AddEnded(noon); p.Empty() {
		t.Error("a start that has ended is not remembered")
	}
}

// TestBackfillable lists the stretches in which no slot had a run: up to the schedule that counts, and the skipped ranges.
func TestBackfillable(t *testing.T) {
	first := job.Job{Name: "j", Created: noon, Scheduled: noon, Since: noon, SinceGeneration: 1}
	later := first
	later.SinceGeneration, later.Scheduled = 2, hours(5)
	between := func(from, to time.Time) job.SlotRange { return job.SlotRange{From: from, To: to} }
	day := noon.Add(-job.JitterRange.High.Std())
	for name, c := range map[string]struct {
		job     job.Job
		skipped []job.SlotRange
		decided time.Time
		want    []job.SlotRange
	}{
		"before its creation":       {first, nil, hours(9), []job.SlotRange{between(hours(-48), noon)}},
		"before an earlier one":     {later, nil, hours(9), []job.SlotRange{between(hours(-48), day)}},
		"what is decided":           {first, nil, hours(-2), []job.SlotRange{between(hours(-48), hours(-2))}},
		"a skipped range":           {first, []job.SlotRange{between(hours(1), hours(9))}, hours(9), []job.SlotRange{between(hours(-48), noon), between(hours(1), hours(3))}},
		"a skipped range behind it": {first, []job.SlotRange{between(noon.Add(1), hours(2))}, hours(9), []job.SlotRange{between(hours(-48), hours(2))}},
	} {
		s, _ := every(t, time.Hour, 0)
		if got := policy.Backfillable(&c.job, s, nil, c.skipped, hours(-48), hours(3), c.decided); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestWhenObeysDST(t *testing.T) {
	spec := job.Spec{Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", DST: &job.DST{Gap: "skip", Fold: "last"}}
	s, err := policy.When("j", &spec)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[string]string{"2027-03-27T12:00:00Z": "2027-03-29T00:30:00Z", "2027-10-30T12:00:00Z": "2027-10-31T01:30:00Z"} {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Next(at); got.Format(time.RFC3339) != want {
			t.Errorf("after %s: got %v, want %s", after, got, want)
		}
	}
}
