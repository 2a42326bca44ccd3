package policy

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestCountSlots counts the slots of ranges as a backfill finds them. The rest of a range may begin a nanosecond after a slot.
func TestCountSlots(t *testing.T) {
	every := job.Spec{Every: job.Duration(10 * time.Second)}
	when, err := When("report", &every)
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds int, rest time.Duration) time.Time {
		return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC).Add(rest)
	}
	for name, c := range map[string]struct {
		ranges []job.SlotRange
		most   int
		want   int
		exact  bool
	}{
		"from a slot to a slot":   {[]job.SlotRange{{From: at(0, 0), To: at(30, 0)}}, 100, 4, true},
		"from right after a slot": {[]job.SlotRange{{From: at(0, 1), To: at(30, 0)}}, 100, 3, true},
		"until right before one":  {[]job.SlotRange{{From: at(0, 0), To: at(30, -1)}}, 100, 3, true},
		"two ranges":              {[]job.SlotRange{{From: at(0, 0), To: at(10, 0)}, {From: at(20, 1), To: at(50, 0)}}, 100, 5, true},
		"as many as allowed":      {[]job.SlotRange{{From: at(0, 0), To: at(30, 0)}}, 4, 4, true},
		"more than allowed":       {[]job.SlotRange{{From: at(0, 0), To: at(30, 0)}, {From: at(40, 0), To: at(50, 0)}}, 5, 6, false},
		"nothing":                 {nil, 5, 0, true},
	} {
		got, exact := CountSlots(when, c.most, c.ranges...)
		if got != c.want || exact != c.exact {
			t.Errorf("%s: got %d, %v, want %d, %v", name, got, exact, c.want, c.exact)
		}
		b := job.Backfill{Ranges: c.ranges, Order: job.OldestFirst}
		found := 0
		for slot, ok := b.Next(when, time.Time{}); ok; slot, ok = b.Next(when, slot) {
			found++
		}
		if found != c.want {
			t.Errorf("%s: a backfill finds %d slots, want %d", name, found, c.want)
		}
	}
}
