package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// TestSlotsMoveAtClockChanges moves slots to the day on which the clock jumps over their time, and away from it. The notes agree
// with the slots.
func TestSlotsMoveAtClockChanges(t *testing.T) {
	days := func(weekdays string, except ...string) *schedule.Calendar {
		return &schedule.Calendar{Name: "c", Weekdays: []string{weekdays}, Except: except, Else: schedule.ElseNext}
	}
	const jumps = "2027-03-28: the clock in Europe/Berlin goes from 02:00 to 03:00; 02:"
	for _, tc := range []struct {
		claim    string
		expr     string
		gap      schedule.Gap
		calendar *schedule.Calendar
		from, to string
		want     []string
		notes    []string
	}{
		{
			"a slot keeps its time of day when it moves away", "30 2 * * *", schedule.GapRun, days("mon-fri"), "2027-03-26T12", "2027-03-30T12",
			[]string{"03-29 02:30", "03-30 02:30"}, nil,
		},
		{
			"a slot that moves there runs later", "30 2 * * *", schedule.GapRun, days("sun-sat", "2027-03-27"), "2027-03-27T00", "2027-03-29T12",
			[]string{"03-28 03:30", "03-29 02:30"},
			[]string{
				"2027-03-27 is not on c; its slots move to 2027-03-28; the clock jumps over 02:30 on that day, which runs 1h later",
				jumps + "30 runs at 03:30",
			},
		},
		{
			"or is skipped", "30 2 * * sat", schedule.GapSkip, days("sun-sat", "2027-03-27"), "2027-03-27T00", "2027-04-03T12",
			[]string{"04-03 02:30"},
			[]string{"2027-03-27 is not on c; its slots move to 2027-03-28; the clock jumps over 02:30 on that day, which is skipped"},
		},
		{
			"a slot that follows elapsed time does so on both days", "0 */2 * * *", schedule.GapRun, days("sun-sat", "2027-03-27"),
			"2027-03-27T00", "2027-03-28T06", []string{"03-28 00:00", "03-28 04:00", "03-28 06:00", "03-28 08:00"},
			[]string{
				"2027-03-27 is not on c; its slots move to 2027-03-28; the clock jumps over 02:00 on that day, which is skipped",
				jumps + "00 does not occur",
			},
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			s := parse(t, schedule.Spec{Cron: []string{tc.expr}, Timezone: "Europe/Berlin", Gap: tc.gap, Calendar: tc.calendar})
			from, to := instant(t, tc.from+":00:00Z"), instant(t, tc.to+":00:00Z")
			var got []string
			for _, at := range slotsIn(s, from, to) {
				got = append(got, at.In(s.Zone()).Format("01-02 15:04"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
			var notes []string
			for _, note := range s.Notes(from, to, 0) {
				if note < "2027-10" { // the clock is set again in October
					notes = append(notes, note)
				}
			}
			if diff := cmp.Diff(tc.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSlotsMoveFastAtClockChanges counts the slots of a day to which those of a month move, one each second, near a clock change.
// If each of them took the work of a whole day, the test would run for hours.
func TestSlotsMoveFastAtClockChanges(t *testing.T) {
	for _, move := range schedule.Elses()[1:] {
		s := parse(t, schedule.Spec{Cron: []string{"* * * * * *"}, Timezone: "Europe/Berlin", Calendar: &schedule.Calendar{
			Name: "c", Dates: []string{"2026-02-26", "2026-03-30", "2026-05-01"}, Else: move,
		}})
		from := instant(t, "2026-03-30T12:00:00Z")
		if n := len(slotsIn(s, from, from.Add(1000*time.Second))); n != 1000 {
			t.Errorf("%s: %d slots in 1000 seconds", move, n)
		}
	}
}
