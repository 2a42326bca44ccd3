package backend

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// In Chile the clock jumps over midnight. East of UTC it jumps over midnight in Egypt.
func TestTheDayOfAClockChangeIsTheShortOne(t *testing.T) {
	for _, tt := range []struct {
		zone     string
		month    time.Month
		day      int
		slots, h int
	}{
		{"America/Santiago", time.September, 5, 46, 23},
		{"Africa/Cairo", time.April, 30, 46, 23},
		{"America/Havana", time.November, 7, 50, 25},
	} {
		when, err := schedule.Parse(schedule.Spec{Cron: []string{"*/30 * * * *"}, Timezone: tt.zone})
		if err != nil {
			t.Fatal(err)
		}
		days := daysOf(when, when.Zone(), 2027, tt.month)
		for i := range days {
			want, hours := 48, 0
			if i == tt.day-1 {
				want, hours = tt.slots, tt.h
			}
			if d := &days[i]; d.Slots != want || d.Hours != hours {
				t.Errorf("%s %s: got %d slots in %d hours, want %d in %d", tt.zone, d.Date, d.Slots, d.Hours, want, hours)
			}
		}
	}
}
