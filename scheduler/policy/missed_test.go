package policy_test

import (
	"fmt"
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

// every is a job with a slot each hour, offset by the jitter that its name has.
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
		before float64 // hours after noon; slots after noon are owed
		paused []policy.Stretch
		want   []policy.Range
		runs   []float64 // the slots before `before` that are left to run
	}{
		"none: nothing has passed":         {missed: job.MissedNone, before: 0.5},
		"none: one":                        {missed: job.MissedNone, before: 1.5, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}}},
		"none: three":                      {missed: job.MissedNone, before: 3.5, want: []policy.Range{{From: hours(1), To: hours(3), Count: 3, Reason: none}}},
		"none: a slot at the very instant": {missed: job.MissedNone, before: 2, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}}},
		"latest: one":                      {missed: job.MissedLatest, before: 1.5, runs: []float64{1}},
		"latest: three":                    {missed: job.MissedLatest, before: 3.5, want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: latest}}, runs: []float64{3}},
		"latest is the default":            {before: 2.5, want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: latest}}, runs: []float64{2}},
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
			missed: job.MissedNone, before: 5.5, paused: []policy.Stretch{{hours(1.5), hours(3.5)}},
			want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: none}},
		},
		"latest: before a pause": {
			missed: job.MissedLatest, before: 5.5, paused: []policy.Stretch{{hours(2), hours(9)}},
			want: []policy.Range{{From: hours(1), To: hours(1), Count: 1, Reason: latest}}, runs: []float64{2},
		},
		"latest: behind a pause": {
			missed: job.MissedLatest, before: 5.5, paused: []policy.Stretch{{hours(2.5), hours(4)}},
			want: []policy.Range{{From: hours(1), To: hours(2), Count: 2, Reason: latest}},
		},
		"all: the limit counts both sides of a pause": {
			missed: job.MissedAll, limit: 3, before: 7.5, paused: []policy.Stretch{{hours(3.5), hours(5.5)}},
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

func isIn(slot time.Time, list []policy.Stretch) bool {
	return slices.ContainsFunc(list, func(s policy.Stretch) bool { return s.Holds(slot) })
}

func TestMissedGoesByTheTimeOfTheRun(t *testing.T) {
	s, spec := every(t, time.Hour, 30*time.Minute)
	spec.Missed = job.MissedNone
	due := hours(1).Add(s.Offset())
	if s.Offset() == 0 {
		t.Fatal("the job has no jitter")
	}
	if r := policy.Missed(s, spec, noon, due, due, nil); r != nil {
		t.Errorf("a run that is due at the very instant is missed: %+v", r)
	}
	if r := policy.Missed(s, spec, noon, due.Add(1), due, nil); r == nil || r.Count != 1 {
		t.Errorf("a run that was due a nanosecond ago is not missed: %+v", r)
	}
}

// TestMissedDecidesEverySlotOnce checks, for any policy, that ranges and runs together are the slots, in order, and
// that deciding comes to an end.
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
			t.Skip(err)
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
				t.Fatal("there is no end")
			}
			next, _ := s.Next(after)
			if !next.Add(s.Offset()).Before(before) {
				break
			}
			if i := slices.IndexFunc(paused, func(s policy.Stretch) bool { return s.Holds(next) }); i >= 0 {
				n, _ := s.Count(after, earliest(paused[i].UpTo, before.Add(-s.Offset()-1)), 1e9)
				decided, after = decided+n, paused[i].UpTo
				continue
			}
			if r := policy.Missed(s, &spec, after, before, now, paused); r != nil {
				for slot, ok := s.Next(after); ok && !slot.After(r.To); slot, ok = s.Next(slot) {
					if isIn(slot, paused) {
						t.Fatalf("range %+v, slot %v passed in one of %v", r, slot, pauses)
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

// What fits the limit is counted and not listed, for that is asked again at each slot of a long catch-up.
func TestMissedListsNoSlotsThatFit(t *testing.T) {
	spec := job.Spec{Schedule: []string{"* * * * *"}, Missed: job.MissedAll, MissedLimit: 5_000}
	s, err := policy.When("j", &spec)
	if err != nil {
		t.Fatal(err)
	}
	before := noon.Add(5_000*time.Minute + 1)
	if n := testing.AllocsPerRun(5, func() {
		if r := policy.Missed(s, &spec, noon, before, before, nil); r != nil {
			t.Errorf("got %+v, want nothing passed over", r)
		}
	}); n > 5 {
		t.Errorf("a look took %v allocations", n)
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

func TestPaused(t *testing.T) {
	paused := func(from, until float64) job.PastPause { return job.PastPause{From: hours(from), Until: hours(until)} }
	for name, c := range map[string]struct {
		offset   time.Duration
		job, all []job.PastPause
		want     []policy.Stretch
	}{
		"never":             {},
		"over already":      {job: []job.PastPause{paused(-2, 0)}},
		"begun before":      {job: []job.PastPause{paused(-2, 1)}, want: []policy.Stretch{{hours(-2), hours(1)}}},
		"of the job's time": {offset: time.Hour, job: []job.PastPause{paused(2, 3)}, want: []policy.Stretch{{hours(1), hours(3)}}},
		"longer than the offset": {
			offset: time.Minute, job: []job.PastPause{paused(2, 3)}, want: []policy.Stretch{{hours(2).Add(-time.Minute), hours(3)}},
		},
		"shorter than the offset": {
			offset: 3 * time.Hour, job: []job.PastPause{paused(5, 6)}, want: []policy.Stretch{{hours(2), hours(3)}, {hours(5), hours(6)}},
		},
		"shorter, and one of its time over": {
			offset: 3 * time.Hour, job: []job.PastPause{paused(2, 2.5)}, want: []policy.Stretch{{hours(2), hours(2.5)}},
		},
		"since ever":     {offset: 3 * time.Hour, job: []job.PastPause{{Until: hours(1)}}, want: []policy.Stretch{{UpTo: hours(1)}}},
		"apart":          {job: []job.PastPause{paused(3, 4)}, all: []job.PastPause{paused(1, 2)}, want: []policy.Stretch{{hours(1), hours(2)}, {hours(3), hours(4)}}},
		"both at a time": {job: []job.PastPause{paused(1, 5)}, all: []job.PastPause{paused(2, 3), paused(5, 6)}, want: []policy.Stretch{{hours(1), hours(6)}}},
		"that never was": {job: []job.PastPause{paused(3, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, policy.Paused(c.offset, noon, c.job, c.all)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	s, _ := every(t, time.Hour, 0)
	for name, c := range map[string]struct {
		after, upTo time.Time
		want        *policy.Range
	}{
		"nothing":       {noon, hours(0.5), nil},
		"the end, too":  {noon, hours(2), &policy.Range{From: hours(1), To: hours(2), Count: 2, Reason: "why"}},
		"the other way": {hours(2), noon, nil},
		"not its start": {hours(1), hours(1), nil},
	} {
		if diff := cmp.Diff(c.want, policy.Between(s, c.after, c.upTo, "why")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	t.Run("counts only so far", func(t *testing.T) {
		spec := job.Spec{Schedule: []string{"* * * * *"}}
		s, err := policy.When("j", &spec)
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Between(s, noon, noon.AddDate(1, 0, 0), "why")
		if !r.Partial || r.Count != policy.CountLimit || !r.To.Equal(noon.AddDate(1, 0, 0)) {
			t.Errorf("got %+v, want a partial count of %d up to the end", r, policy.CountLimit)
		}
		if r := policy.Between(s, noon, noon.AddDate(0, 0, 14), "why"); r.Partial || r.Count != 14*24*60 {
			t.Errorf("two weeks of minutes: got %+v, want all of them counted", r)
		}
	})
}

func TestWhen(t *testing.T) {
	if s, err := policy.When("j", &job.Spec{}); s != nil || err != nil {
		t.Errorf("a job without a schedule: got %v, %v, want neither", s, err)
	}
	if s, err := policy.When("j", &job.Spec{Schedule: []string{"nonsense"}}); s != nil || err == nil {
		t.Errorf("a schedule that makes no sense: got %v, %v, want an error", s, err)
	}
	start, end := hours(2), hours(4)
	s, err := policy.When("j", &job.Spec{
		Schedule: []string{"0 * * * *"}, Timezone: "Europe/Berlin", Start: &start, End: &end, DST: &job.DST{Gap: "skip", Fold: "both"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for slot, ok := s.Next(noon); ok; slot, ok = s.Next(slot) {
		got = append(got, fmt.Sprint(slot.Sub(noon).Hours()))
	}
	if diff := cmp.Diff([]string{"2", "3"}, got); diff != "" {
		t.Errorf("slots within the window (-want +got):\n%s", diff)
	}
}
