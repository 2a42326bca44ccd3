package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestHashedFieldsAreStableAndSpread(t *testing.T) {
	seen := map[string]bool{}
	for i := range 500 {
		spec := schedule.Spec{Cron: []string{"H H * * *"}, Seed: fmt.Sprintf("job-%d", i)}
		a, _ := parse(t, spec).Next(time.Unix(0, 0))
		b, _ := parse(t, spec).Next(time.Unix(0, 0))
		if a != b {
			t.Fatalf("%s: %v, then %v", spec.Seed, a, b)
		}
		seen[a.Format("15:04")] = true
	}
	// 500 random choices among 1440 minutes give about 1440*(1-exp(-500/1440)) = 422 different minutes.
	if len(seen) < 390 {
		t.Errorf("500 jobs share %d minutes of the day, want about 422", len(seen))
	}
}

// TestHashedFieldsNeverMove pins the hash: every job with H or jitter would move if it changed.
func TestHashedFieldsNeverMove(t *testing.T) {
	spec := schedule.Spec{Cron: []string{"H H H * *"}, Seed: "nightly-backup", Jitter: 30 * time.Second}
	s := parse(t, spec)
	got, _ := s.Next(time.Unix(0, 0))
	if want := instant(t, "1970-01-09T11:16:00Z"); !got.Equal(want) {
		t.Errorf("slot = %v, want %v", got, want)
	}
	if got, want := s.Offset(), 7835*time.Millisecond; got != want {
		t.Errorf("offset = %v, want %v", got, want)
	}
}

func TestHashed(t *testing.T) {
	for expr, want := range map[string]bool{
		"H 2 * * *": true, "0 h/6 * * *": true, "5,H(7-9) * * * *": true, "0 2 * mar thu": false, "@hourly": false, "0 2 * * mon,THU": false,
	} {
		if got := schedule.Hashed(expr); got != want {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
}

func TestHashedStepsAndRanges(t *testing.T) {
	for i := range 200 {
		seed := fmt.Sprint(i)
		from := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		for _, tc := range []struct {
			expr     string
			want     int // slots in an hour
			low, top int // minutes
		}{
			{"H * * * *", 1, 0, 59}, {"H/15 * * * *", 4, 0, 59}, {"H(0-29) * * * *", 1, 0, 29}, {"H(10-29)/10 * * * *", 2, 10, 29},
			{"H/45 * * * *", 1, 0, 59}, {"5,H(7-7) * * * *", 2, 5, 7},
		} {
			s := parse(t, schedule.Spec{Cron: []string{tc.expr}, Seed: seed})
			slots := s.Last(from.Add(-time.Second), from.Add(time.Hour-time.Second), 60)
			if tc.expr == "H/45 * * * *" && len(slots) == 2 {
				continue // one or two slots, depending on the hash
			}
			if len(slots) != tc.want {
				t.Fatalf("%s, seed %s: slots %v, want %d", tc.expr, seed, slots, tc.want)
			}
			for _, at := range slots {
				if m := at.Minute(); m < tc.low || m > tc.top {
					t.Errorf("%s, seed %s: minute %d", tc.expr, seed, m)
				}
			}
		}
	}
	parse(t, schedule.Spec{Cron: []string{"H H H H H"}}) // an empty seed is valid
}

// Vixie cron and robfig's library accept such a step, and take the first value alone.
func TestAStepBehindTheEndOfItsRange(t *testing.T) {
	from := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for expr, want := range map[string]string{
		"53/7 * * * *": "53 * * * *", "59/1,0-10/20 * * * *": "0,59 * * * *", "0 23/2 31/5 * *": "0 23 31 * *", "50/9 * * * *": "50,59 * * * *",
		"0 0 * * 5/3": "0 0 * * 5", "0 0 * * 1-3/5": "0 0 * * 1",
	} {
		got := parse(t, schedule.Spec{Cron: []string{expr}}).Last(from, from.AddDate(0, 3, 0), 10_000)
		same := parse(t, schedule.Spec{Cron: []string{want}}).Last(from, from.AddDate(0, 3, 0), 10_000)
		if len(got) == 0 || !slices.Equal(got, same) {
			t.Errorf("%s: got the slots %v, want those of %s", expr, got, want)
		}
	}
}

func TestOffsetIsBelowJitter(t *testing.T) {
	var low, high bool
	for i := range 200 {
		s := parse(t, schedule.Spec{Every: time.Minute, Seed: fmt.Sprintf("job-%d", i), Jitter: 30 * time.Second})
		o := s.Offset()
		if o < 0 || o >= 30*time.Second || o%time.Millisecond != 0 {
			t.Fatalf("offset %v", o)
		}
		low, high = low || o < 3*time.Second, high || o > 27*time.Second
	}
	if !low || !high {
		t.Error("offsets do not spread")
	}
	if o := parse(t, schedule.Spec{Every: time.Minute, Seed: "x"}).Offset(); o != 0 {
		t.Errorf("offset %v without jitter", o)
	}
}

func TestCount(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	weeks := from.AddDate(0, 0, 14)
	for _, tc := range []struct {
		spec  schedule.Spec
		limit int
		n     int
		exact bool
	}{
		{schedule.Spec{Every: time.Second}, 1, 14 * 86400, true},
		{schedule.Spec{Cron: []string{"@every 1s"}}, 0, 14 * 86400, true},
		{schedule.Spec{Every: time.Second, Start: weeks.Add(-time.Minute)}, 1, 61, true},
		{schedule.Spec{Every: time.Second, End: from.Add(time.Minute)}, 1, 59, true},
		{schedule.Spec{Every: time.Second, End: from}, 1, 0, true},
		{schedule.Spec{Every: time.Hour, Exclude: []string{"2026-01-02"}}, 1000, 14*24 - 24, true},
		{schedule.Spec{Cron: []string{"* * * * *"}}, 100, 100, false},
		{schedule.Spec{Cron: []string{"0 0 * * *"}}, 14, 14, true},
		{schedule.Spec{Cron: []string{"0 0 * * *"}}, 13, 13, false},
		{schedule.Spec{Cron: []string{"0 0 * * *", "@every 12h"}}, 100, 28, true},
		{schedule.Spec{At: []time.Time{from, from.Add(1e9), weeks, weeks.Add(1e9)}}, 0, 2, true},
	} {
		n, exact := parse(t, tc.spec).Count(from, weeks, tc.limit)
		if n != tc.n || exact != tc.exact {
			t.Errorf("%+v: Count = %d, %v; want %d, %v", tc.spec, n, exact, tc.n, tc.exact)
		}
	}
}

func TestLast(t *testing.T) {
	from, to := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		spec schedule.Spec
		n    int
		want []string
	}{
		{schedule.Spec{Every: time.Second}, 2, []string{"2026-11-20T23:59:59Z", "2026-11-21T00:00:00Z"}},
		{cron("0 0 29 2 *", ""), 3, []string{"2016-02-29T00:00:00Z", "2020-02-29T00:00:00Z", "2024-02-29T00:00:00Z"}},
		// A burst far back: a whole day of slots every second, ten months away.
		{cron("* * * 1 1 *", ""), 2, []string{"2026-01-01T23:59:58Z", "2026-01-01T23:59:59Z"}},
		{schedule.Spec{At: []time.Time{time.Unix(5, 0), time.Unix(7, 0)}}, 5, []string{"1970-01-01T00:00:05Z", "1970-01-01T00:00:07Z"}},
		{schedule.Spec{At: []time.Time{time.Unix(0, 0), time.Unix(1, 0)}}, 5, []string{"1970-01-01T00:00:01Z"}},
		{schedule.Spec{Every: time.Second, End: time.Unix(3, 0)}, 9, []string{"1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"}},
		{schedule.Spec{Every: time.Second}, 0, nil},
	} {
		var got []string
		for _, at := range parse(t, tc.spec).Last(from, to, tc.n) {
			got = append(got, at.Format(time.RFC3339))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v: Last = %v, want %v", tc.spec, got, tc.want)
		}
	}
	s := parse(t, schedule.Spec{Every: time.Hour})
	if got := s.Last(to, to, 3); got != nil {
		t.Errorf("Last of an empty interval = %v", got)
	}
	if got := s.Last(to, from, 3); got != nil {
		t.Errorf("Last of a reversed interval = %v", got)
	}
}

func TestNextAtTheEndsOfTime(t *testing.T) {
	specs := []schedule.Spec{{Every: time.Second}, cron("* * * * *", ""), cron("0 0 * * *", "America/New_York"), {At: []time.Time{time.Unix(0, 0)}}}
	for _, spec := range specs {
		s := parse(t, spec)
		for _, at := range []time.Time{{}, time.Unix(-1<<63, 0), time.Unix(1<<63-1, 0), time.Unix(1<<40, 0), time.UnixMilli(253402300799_999)} {
			if got, ok := s.Next(at); ok && !got.After(at) {
				t.Errorf("%+v: Next(%v) = %v", spec, at, got)
			}
			s.Last(at, time.Unix(0, 0), 2)
			s.Last(time.Unix(0, 0), at, 2)
			s.Count(at, time.Unix(0, 0), 2)
			s.Notes(at, at, 2)
		}
		if got, ok := s.Next(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)); ok {
			t.Errorf("%+v: slot %v after the year 9999", spec, got)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	s := parse(t, cron("30 2 * * *", "Europe/Berlin"))
	at := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	if n := testing.AllocsPerRun(100, func() { at, _ = s.Next(at) }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
}

// TestNeverFiringIsFoundQuickly guards the bounded work of Parse and Next, with a generous margin.
func TestNeverFiringIsFoundQuickly(t *testing.T) {
	if sampled {
		t.Skip("times mean nothing under the race detector")
	}
	began := time.Now()
	const rounds = 20
	for range rounds {
		if _, err := schedule.Parse(cron("30 2 30 2 *", "America/New_York")); err == nil {
			t.Fatal("accepted")
		}
		s := parse(t, with(cron("30 2 * 3 SUN#2", "America/New_York"), schedule.GapSkip, schedule.FoldFirst))
		if got, ok := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); ok {
			t.Fatalf("slot %v, want none: all are in gaps", got)
		}
	}
	if each := time.Since(began) / rounds; each > 40*time.Millisecond {
		t.Errorf("Parse and Next take %v", each)
	}
}
