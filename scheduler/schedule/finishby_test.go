package schedule_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestFinishBy(t *testing.T) {
	for _, tc := range []struct{ text, zone, slot, want string }{
		{"3h", "", "2026-11-25T02:30:00Z", "2026-11-25T05:30:00Z"},
		{"06:00", "Europe/Berlin", "2026-11-25T01:30:00Z", "2026-11-25T05:00:00Z"},
		{"06:00 ", "Europe/Berlin", "2026-11-25T01:30:00Z", "2026-11-25T05:00:00Z"},
		{"06:00", "Europe/Berlin", "2026-11-25T05:00:00Z", "2026-11-26T05:00:00Z"},
		{"06:00 America/New_York", "Europe/Berlin", "2026-11-25T05:00:00Z", "2026-11-25T11:00:00Z"},
		{"06:00", "", "2026-11-25T05:00:00Z", "2026-11-25T06:00:00Z"},
		{"02:30", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:30:00Z"},    // the clock jumps from 02:00 to 03:00
		{"02:30", "America/New_York", "2027-03-14T05:00:00Z", "2027-03-14T07:30:00Z"}, // the same, west of UTC
		{"02:30", "America/New_York", "2027-03-14T06:45:00Z", "2027-03-14T07:30:00Z"},
		{"02:30", "Europe/Berlin", "2027-10-30T23:00:00Z", "2027-10-31T00:30:00Z"}, // the clock shows 02:30 twice
		{"02:30", "Europe/Berlin", "2027-10-31T01:10:00Z", "2027-10-31T01:30:00Z"},
		{"01:30", "America/New_York", "2027-11-07T06:10:00Z", "2027-11-07T06:30:00Z"},
		{"23:30", "America/Nuuk", "2027-03-28T01:10:00Z", "2027-03-28T01:30:00Z"},     // on the day before, the clock jumps over 23:30
		{"23:30", "America/St_Johns", "2010-11-07T02:30:30Z", "2010-11-07T03:00:00Z"}, // the clock goes back to the day before
		{"00:00", "Pacific/Apia", "2011-12-29T20:00:00Z", "2011-12-30T10:00:00Z"},     // the zone had no 30 December
	} {
		f, err := schedule.ParseFinishBy(tc.text, tc.zone)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if got := f.Of(instant(t, tc.slot)).Format(time.RFC3339); got != tc.want {
			t.Errorf("%s in %q after %s: got %s, want %s", tc.text, tc.zone, tc.slot, got, tc.want)
		}
	}
	for _, text := range []string{"", "6:00", "25:00", "06:00 Nowhere", "-1h", "0s", "06:00:00", "200000h"} {
		if _, err := schedule.ParseFinishBy(text, "UTC"); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
