package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// every returns a job with a slot each period. The slots have an offset, less than jitter, that depends on the job's name.
func every(t testing.TB, period time.Duration, jitter time.Duration) (*schedule.Schedule, *job.Spec) {
	t.Helper()
	spec := job.Spec{Every: job.Duration(period), Jitter: job.Duration(jitter)}.WithDefaults()
	s, err := policy.When("j", &spec)
	if err != nil {
		t.Fatal(err)
	}
	return s, &spec
}

func hours(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Hour))) }

func TestMissed(t *testing.T) {
	const (
		none   = "missed: nobody could dispatch at its time, and the job's policy is none"
		latest = "missed: a later slot runs instead"
	)
	for name, c := range map[string]struct {
		missed job.Missed
		window time.Duration
		limit  int
		before float64 // hours after noon; slots after noon run
		paused []policy.Interval
		want   []policy.Range
		runs   []float64 // slots before `before` that run
	}{
		"none: nothing has passed":     {missed: job.MissedNone, before: 0.5},
		"none: one":                    {missed: job.MissedNone, before: 1.5, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}}},
		"none: three":                  {missed: job.MissedNone, before: 3.5, want: []policy.Range{{From: hours(1), To: hours(3), Count: 3, Reason: none}}},
		"none: a slot at this instant": {missed: job.MissedNone, before: 2, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}}},
		"latest: one":                  {missed: job.MissedLatest, before: 1.5, runs: []float64{1}},
		"latest: three":                {missed: job.MissedLatest, before: 3.5, want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: latest}}, runs: []float64{3}},
		"latest is the default":        {before: 2.5, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: latest}}, runs: []float64{2}},
		"latest: too old": {
			missed: job.MissedLatest, window: 15 * time.Minute, before: 3.5,
			want: []policy.Range{{From: hours(1), To: hours(3), Count: 3, Reason: "missed: older than the window of 15m"}},
		},
		"latest: a window that leaves it": {
			missed: job.MissedLatest, window: time.Hour, before: 3.5,
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: "missed: older than the window of 1h"}}, runs: []float64{3},
		},
		"all": {missed: job.MissedAll, limit: 100, before: 3.5, runs: []float64{1, 2, 3}},
		"all: beyond the limit": {
			missed: job.MissedAll, limit: 2, before: 4.5,
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: "missed: beyond the limit of 2"}}, runs: []float64{3, 4},
		},
		"all: beyond the window, then the limit": {
			missed: job.MissedAll, limit: 2, window: 3 * time.Hour, before: 5.5,
			want: []policy.Range{
				{From: hours(1), To: hours(2), Count: 2, Reason: "missed: older than the window of 3h"},
				{From: hours(3), To: hours(3), Count: 1, Reason: "missed: beyond the limit of 2"},
			}, runs: []float64{4, 5},
		},
		"all: everything beyond the window": {
			missed: job.MissedAll, limit: 2, window: time.Minute, before: 2.5,
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: "missed: older than the window of 1m"}},
		},
		"none: behind a pause": {
			missed: job.MissedNone, before: 5.5, paused: []policy.Interval{{hours(1.5), hours(3.5)}},
			want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}},
		},
		"none: behind a pause without a slot before it": {
			missed: job.MissedNone, before: 3.5, paused: []policy.Interval{{hours(0.25), hours(0.75)}},
			want: []policy.Range{{From: hours(1), To: hours(3), Count: 3, Reason: none}},
		},
		"latest: before a pause": {
			missed: job.MissedLatest, before: 5.5, paused: []policy.Interval{{hours(2), hours(9)}},
			want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: latest}}, runs: []float64{2},
		},
		"latest: a pause up to the end": {
			missed: job.MissedLatest, before: 3.5, paused: []policy.Interval{{hours(3), hours(3.25)}},
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: latest}}, runs: []float64{3},
		},
		"latest: behind a pause": {
			missed: job.MissedLatest, before: 5.5, paused: []policy.Interval{{hours(2.5), hours(4)}},
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: latest}},
		},
		"all: the limit counts both sides of a pause": {
			missed: job.MissedAll, limit: 3, before: 7.5, paused: []policy.Interval{{hours(3.5), hours(5.5)}},
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: "missed: beyond the limit of 3"}}, runs: []float64{3},
		},
		"all: without a limit one is left": {
			missed: job.MissedAll, before: 2.5, limit: -1,
			want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: "missed: beyond the limit of 1"}}, runs: []float64{2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, spec := every(t, time.Hour, 0)
			spec.Missed, spec.MissedLimit, spec.MissedWindow = c.missed, c.limit, job.Duration(c.window)
			after, before := noon, hours(c.before)
			var got []policy.Range
			for {
				r := policy.Missed(s, spec, after, before, before, c.paused)
				if next, _ := s.Next(after); r == nil || isIn(next, c.paused) {
					break
				}
				got, after = append(got, *r), r.To
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			var runs []float64
			for slot, ok := s.Next(after); ok && slot.Before(before) && !isIn(slot, c.paused); slot, ok = s.Next(slot) {
				runs = append(runs, slot.Sub(noon).Hours()) // up to the next pause
			}
			if diff := cmp.Diff(c.runs, runs); diff != "" {
				t.Errorf("left to run (-want +got):\n%s", diff)
			}
		})
	}
}

func isIn(slot time.Time, list []policy.Interval) bool {
	return slices.ContainsFunc(list, func(s policy.Interval) bool { return s.Holds(slot) })
}

func TestMissedComparesTheTimeOfTheRun(t *testing.T) {
	s, spec := every(t, time.Hour, 30*time.Minute)
	spec.Missed = job.MissedNone
	due := hours(1).Add(s.Offset())
	if s.Offset() == 0 {
		t.Fatal("the job has no jitter")
	}
	if r := policy.Missed(s, spec, noon, due, due, nil); r != nil {
		t.Errorf("a run that is due now is missed: %+v", r)
	}
	if r := policy.Missed(s, spec, noon, due.Add(1), due, nil); r == nil || r.Count != 1 {
		t.Errorf("a run that was due a nanosecond ago is not missed: %+v", r)
	}
}

// TestMissedDecidesEverySlotOnce checks for random policies that ranges and runs together are all slots, in order, and
// that deciding ends.
func TestMissedDecidesEverySlotOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := job.Spec{
			Every:        job.Duration(time.Duration(rapid.IntRange(1, 5000).Draw(t, "every")) * time.Second),
			Jitter:       job.Duration(time.Duration(rapid.IntRange(0, 600).Draw(t, "jitter")) * time.Second),
			Missed:       rapid.SampledFrom(append(job.MissedPolicies(), "")).Draw(t, "missed"),
			MissedLimit:  rapid.IntRange(0, 20).Draw(t, "limit"),
			MissedWindow: job.Duration(time.Duration(rapid.IntRange(0, 7200).Draw(t, "window")) * time.Second),
		}
		s, err := policy.When("j", &spec)
		if err != nil {
			t.Fatal(err)
		}
		before := noon.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "before")))
		now := before.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "now")) * time.Second)
		after := noon
		pauses := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job.PastPause {
			from := noon.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(4*time.Hour)).Draw(t, "from")))
			return job.PastPause{From: from, Until: from.Add(time.Duration(rapid.Int64Range(-1, int64(time.Hour)).Draw(t, "pause")))}
		}), 0, 4).Draw(t, "pauses")
		paused := policy.Paused(s.Offset(), noon, pauses)
		decided, ran := 0, 0
		for steps := 0; ; steps++ {
			if steps > 20_000 {
				t.Fatal("deciding does not end")
			}
			next, _ := s.Next(after)
			if !next.Add(s.Offset()).Before(before) {
				break
			}
			if i := slices.IndexFunc(paused, func(s policy.Interval) bool { return s.Holds(next) }); i >= 0 {
				n, _ := s.Count(after, earliest(paused[i].UpTo, before.Add(-s.Offset()-1)), 1e9)
				decided, after = decided+n, paused[i].UpTo
				continue
			}
			if r := policy.Missed(s, &spec, after, before, now, paused); r != nil {
				for slot, ok := s.Next(after); ok && !slot.After(r.To); slot, ok = s.Next(slot) {
					if isIn(slot, paused) {
						t.Fatalf("range %+v, slot %v lies in one of %v", r, slot, pauses)
					}
				}
				if !r.From.Equal(next) || r.To.Before(r.From) || r.Count < 1 || r.Reason == "" || !r.To.Add(s.Offset()).Before(before) {
					t.Fatalf("range %+v, the next slot is %v", r, next)
				}
				decided, after = decided+r.Count, r.To
				continue
			}
			decided, ran, after = decided+1, ran+1, next
		}
		if want, _ := s.Count(noon, before.Add(-s.Offset()-1), 1e9); decided != want {
			t.Errorf("decided %d slots, there are %d", decided, want)
		}
		most := map[job.Missed]int{job.MissedNone: 0, job.MissedLatest: 1, "": 1, job.MissedAll: max(1, spec.MissedLimit)}[spec.Missed]
		if ran > most {
			t.Errorf("%d run, at most %d may", ran, most)
		}
	})
}

// TestMissedListsNoSlotsThatFit checks that Missed counts the slots within the limit and does not list them. During a long
// catch-up, Missed is called again for each slot, so listing would be slow.
func TestMissedListsNoSlotsThatFit(t *testing.T) {
	spec := job.Spec{Schedule: []string{"* * * * *"}, Missed: job.MissedAll, MissedLimit: 5_000}
	s, err := policy.When("j", &spec)
	if err != nil {
		t.Fatal(err)
	}
	before := noon.Add(5_000*time.Minute + 1)
	if n := testing.AllocsPerRun(5, func() {
		if r := policy.Missed(s, &spec, noon, before, before, nil); r != nil {
			t.Errorf("got %+v, want no missed slots", r)
		}
	}); n > 5 {
		t.Errorf("Missed took %v allocations", n)
	}
	if r := policy.Missed(s, &spec, noon, before.Add(time.Minute), before, nil); r == nil || r.Count != 1 {
		t.Errorf("one more than the limit: got %+v", r)
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Replicas of different versions read each other's events and compare the first word of a reason. So this word must stay the
// same as in version 0.1.0.
func TestReasonOfMissedSlotsKeepsItsFirstWord(t *testing.T) {
	for reason, missed := range map[string]bool{"missed: beyond the limit of 3": true, "overlap: run a is still active": false, "paused": false} {
		if got := policy.IsMissed(reason); got != missed {
			t.Errorf("%q: missed is %t, want %t", reason, got, missed)
		}
	}
}
