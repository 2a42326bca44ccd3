package schedule_test

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// On the day on which the clocks in Berlin go from 02:00 to 03:00, the slot of 02:30 moves to 03:30.
func ExampleParse() {
	s, err := schedule.Parse(schedule.Spec{Cron: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Seed: "backup"})
	if err != nil {
		panic(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		at, _ = s.Next(at)
		fmt.Println(at.In(berlin).Format(time.RFC1123Z))
	}
	// Output:
	// Sat, 28 Mar 2026 02:30:00 +0100
	// Sun, 29 Mar 2026 03:30:00 +0200
	// Mon, 30 Mar 2026 02:30:00 +0200
}
