package schedule

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for _, tc := range []struct{ expression, want string }{
		{"30 2 * * *", "every day at 02:30"},
		{"0 30 2 * * *", "every day at 02:30"},
		{"*/15 * * * *", "every 15 minutes"},
		{"* * * * *", "every minute"},
		{"5 * * * *", "every hour, at minute 5"},
		{"H * * * *", "every hour, at a minute that the job's name decides"},
		{"H 3 * * *", "every day at 03:00 or up to 59 minutes later, as the job's name decides"},
		{"H 1-5 * * *", "cron H 1-5 * * *"},
		{"0 9-17 * * MON-FRI", "Monday to Friday, every hour from 09:00 to 17:00"},
		{"0 12 * * sat", "every Saturday at 12:00"},
		{"0 6 * * 1,4", "every Monday and Thursday at 06:00"},
		{"0 8,20 * * *", "every day at 08:00, 20:00"},
		{"0 0 1 * *", "on day 1 of every month at 00:00"},
		{"0 0 28 * *", "on day 28 of every month at 00:00"},
		{"0 0 29 * *", "on day 29 of every month (shorter months have no slot) at 00:00"},
		{"0 0 31 * *", "on day 31 of every month (shorter months have no slot) at 00:00"},
		{"0 0 29 2 *", "every leap year, on February 29 at 00:00"},
		{"0 0 L * *", "on the last day of every month at 00:00"},
		{"0 0 24 dec *", "every year, on December 24 at 00:00"},
		{"@daily", "every day at 00:00"},
		{"0 */6 * * *", "every 6 hours, at minute 0"},
		{"*/45 * * * *", "cron */45 * * * *"},
		{"0 */5 * * *", "cron 0 */5 * * *"},
		{"1-5 2 * * *", "cron 1-5 2 * * *"},
		{"0 0 13 * fri", "cron 0 0 13 * fri"},
	} {
		if got := Words(Spec{Cron: []string{tc.expression}}); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.expression, got, tc.want)
		}
	}
	for every, want := range map[time.Duration]string{
		time.Minute: "every minute", 90 * time.Second: "every 90 seconds", 36 * time.Hour: "every 36 hours", 1500 * time.Millisecond: "every 1.5s",
	} {
		if got := Words(Spec{Every: every}); got != want {
			t.Errorf("every %v: got %q, want %q", every, got, want)
		}
	}
	if got, want := Words(Spec{Cron: []string{"30 2 * * *"}, Timezone: "Europe/Berlin"}), "every day at 02:30, Europe/Berlin"; got != want {
		t.Errorf("with a zone: got %q, want %q", got, want)
	}
}
