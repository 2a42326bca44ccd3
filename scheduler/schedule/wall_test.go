package schedule_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestWallTimes(t *testing.T) {
	for _, tc := range []struct{ zone, wall, first, last string }{
		{"UTC", "2027-03-14T02:30:00Z", "2027-03-14T02:30:00Z", "2027-03-14T02:30:00Z"},
		{"Europe/Berlin", "2027-03-28T01:59:00Z", "2027-03-28T00:59:00Z", "2027-03-28T00:59:00Z"},
		{"Europe/Berlin", "2027-03-28T02:30:00Z", "2027-03-28T01:30:00Z", "2027-03-28T01:30:00Z"},
		{"Europe/Berlin", "2027-10-31T02:30:00Z", "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
		{"Europe/Berlin", "2027-10-31T03:00:00Z", "2027-10-31T02:00:00Z", "2027-10-31T02:00:00Z"},
		{"America/New_York", "2027-03-14T02:00:00Z", "2027-03-14T07:00:00Z", "2027-03-14T07:00:00Z"},
		{"America/New_York", "2027-03-14T02:30:00Z", "2027-03-14T07:30:00Z", "2027-03-14T07:30:00Z"},
		{"America/New_York", "2027-03-14T03:30:00Z", "2027-03-14T07:30:00Z", "2027-03-14T07:30:00Z"},
		{"America/New_York", "2027-11-07T01:30:00Z", "2027-11-07T05:30:00Z", "2027-11-07T06:30:00Z"},
		{"America/Santiago", "2027-09-05T00:00:00Z", "2027-09-05T04:00:00Z", "2027-09-05T04:00:00Z"}, // 00:00 does not occur
		{"Asia/Amman", "2021-10-29T00:30:00Z", "2021-10-28T21:30:00Z", "2021-10-28T22:30:00Z"},       // 00:30 occurs twice
		{"Australia/Lord_Howe", "2027-10-03T02:15:00Z", "2027-10-02T15:45:00Z", "2027-10-02T15:45:00Z"},
		{"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T22:00:00Z", "2011-12-30T22:00:00Z"}, // the zone had no 30 December
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		first, last := schedule.Wall(instant(t, tc.wall), zone)
		if !first.Equal(instant(t, tc.first)) || !last.Equal(instant(t, tc.last)) {
			t.Errorf("%s %s: got %s and %s, want %s and %s", tc.zone, tc.wall, first.UTC(), last.UTC(), tc.first, tc.last)
		}
		if year, month, day := first.Date(); first.Location() != zone || month != first.Month() || year < 2011 || day == 0 {
			t.Errorf("%s: got %s in another zone", tc.zone, first)
		}
	}
}

// Through two years of hours, an instant is always the first or the last one of what its clock shows.
func TestWallTimesAreThoseOfTheClock(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		from := instant(t, "2027-01-01T00:15:00Z")
		for at := from; at.Before(from.AddDate(2, 0, 0)); at = at.Add(time.Hour) {
			if first, last := schedule.Wall(at.In(zone), zone); !first.Equal(at) && !last.Equal(at) || first.After(last) {
				t.Fatalf("%s: got %s and %s", at.In(zone), first, last)
			}
		}
	}
}
