package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

func TestPaused(t *testing.T) {
	paused := func(from, until float64) job.PastPause { return job.PastPause{From: hours(from), Until: hours(until)} }
	for name, c := range map[string]struct {
		offset   time.Duration
		job, all []job.PastPause
		want     []policy.Interval
	}{
		"never":              {},
		"ended before":       {job: []job.PastPause{paused(-2, 0)}},
		"began before":       {job: []job.PastPause{paused(-2, 1)}, want: []policy.Interval{{hours(-2), hours(1)}}},
		"in time of the job": {offset: time.Hour, job: []job.PastPause{paused(2, 3)}, want: []policy.Interval{{hours(1), hours(3)}}},
		"longer than the offset": {
			offset: time.Minute, job: []job.PastPause{paused(2, 3)}, want: []policy.Interval{{hours(2).Add(-time.Minute), hours(3)}},
		},
		"shorter than the offset": {
			offset: 3 * time.Hour, job: []job.PastPause{paused(5, 6)}, want: []policy.Interval{{hours(2), hours(3)}, {hours(5), hours(6)}},
		},
		"shorter, with one interval in the past": {
			offset: 3 * time.Hour, job: []job.PastPause{paused(2, 2.5)}, want: []policy.Interval{{hours(2), hours(2.5)}},
		},
		"without a start":            {offset: 3 * time.Hour, job: []job.PastPause{{Until: hours(1)}}, want: []policy.Interval{{UpTo: hours(1)}}},
		"separate":                   {job: []job.PastPause{paused(3, 4)}, all: []job.PastPause{paused(1, 2)}, want: []policy.Interval{{hours(1), hours(2)}, {hours(3), hours(4)}}},
		"of the job and of all jobs": {job: []job.PastPause{paused(1, 5)}, all: []job.PastPause{paused(2, 3), paused(5, 6)}, want: []policy.Interval{{hours(1), hours(6)}}},
		"that ends before it starts": {job: []job.PastPause{paused(3, 2)}},
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
		"nothing":               {noon, hours(0.5), nil},
		"the end is included":   {noon, hours(2), &policy.Range{From: hours(1), To: hours(2), Count: 2, Reason: "why"}},
		"end before start":      {hours(2), noon, nil},
		"the start is excluded": {hours(1), hours(1), nil},
	} {
		if diff := cmp.Diff(c.want, policy.Between(s, c.after, c.upTo, "why")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	t.Run("counts up to CountLimit", func(t *testing.T) {
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
			t.Errorf("two weeks of minutes: got %+v, want an exact count", r)
		}
	})
}

func TestWhen(t *testing.T) {
	if s, err := policy.When("j", &job.Spec{}); s != nil || err != nil {
		t.Errorf("a job without a schedule: got %v, %v, want neither", s, err)
	}
	if s, err := policy.When("j", &job.Spec{Schedule: []string{"nonsense"}}); s != nil || err == nil {
		t.Errorf("an invalid schedule: got %v, %v, want an error", s, err)
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

// TestStoredWhen compares the schedules of jobs that share a spec with those that When returns.
func TestStoredWhen(t *testing.T) {
	for name, spec := range map[string]*job.Spec{
		"plain":         {Schedule: []string{"30 2 * * *"}},
		"with jitter":   {Schedule: []string{"30 2 * * *"}, Jitter: job.Duration(time.Hour)},
		"hashed":        {Schedule: []string{"h 2 * * *"}, Jitter: job.Duration(time.Hour)},
		"two hashed":    {Schedule: []string{"30 2 * * *", "H H * * *"}},
		"at an instant": {At: []time.Time{hours(5)}, Jitter: job.Duration(time.Hour)},
		"no slots":      {},
		"invalid":       {Schedule: []string{"nonsense"}},
	} {
		for i := range 5 {
			seed := fmt.Sprint("job-", i)
			want, wrong := policy.When(seed, spec)
			got, err := policy.StoredWhen(seed, spec)
			if (err == nil) != (wrong == nil) || (got == nil) != (want == nil) {
				t.Fatalf("%s: got %v, %v, want %v, %v", name, got, err, want, wrong)
			}
			if got == nil {
				continue
			}
			x, _ := got.Next(noon)
			y, _ := want.Next(noon)
			if !x.Equal(y) || got.Offset() != want.Offset() {
				t.Errorf("%s of %s: got %v and %v, want %v and %v", name, seed, x, got.Offset(), y, want.Offset())
			}
		}
	}
}

// TestStoredWhenParsesOnce bounds the allocations for a further job with the same spec.
func TestStoredWhenParsesOnce(t *testing.T) {
	for jitter, most := range map[time.Duration]float64{0: 0, time.Hour: 1} {
		spec := &job.Spec{Schedule: []string{"30 2 * * 1-5"}, Timezone: "Europe/Berlin", Jitter: job.Duration(jitter)}
		got := testing.AllocsPerRun(100, func() {
			if when, err := policy.StoredWhen("j", spec); when == nil || err != nil {
				t.Error(when, err)
			}
		})
		if got > most {
			t.Errorf("with a jitter of %v: got %v allocations, want at most %v", jitter, got, most)
		}
	}
}

// TestStepOff looks at days in the time zone of the step.
func TestStepOff(t *testing.T) {
	s := &job.Spec{Timezone: "Europe/Berlin", Calendar: &job.Calendar{On: "nyse", Weekdays: []string{"mon-fri"}, Except: []string{"2026-12-25"}}}
	for slot, want := range map[string]string{
		"2026-12-24T22:30:00Z": "",
		"2026-12-24T23:30:00Z": "2026-12-25 is not on nyse",
		"2026-12-25T23:30:00Z": "2026-12-26 is not on nyse",
		"2026-12-27T23:30:00Z": "",
	} {
		at, err := time.Parse(time.RFC3339, slot)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.StepOff(s, at); got != want {
			t.Errorf("%s: got %q, want %q", slot, got, want)
		}
	}
	if got := policy.StepOff(s, time.Time{}); got != "" {
		t.Errorf("a run without a slot: got %q", got)
	}
}
