package schedule_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// FuzzNext searches for a panic, an endless search, or a slot that is not after its argument.
func FuzzNext(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "45 3 * * *", "0 0 29 2 *", "H(0-29)/10 H * * *", "0 0 L-3,15W,LW * 5L", "*/7 22-2 1-31/2 NOV-FEB FRI-MON",
		"TZ= 0 0 * * *", "@every 90s", "@daily", "30 2 30 2 *", "*/10 * * * * *", "0 0 * 2 MON#5",
	} {
		for zone := range fuzzZones {
			f.Add(expr, uint8(zone), uint8(zone), int64(1774742400+zone*86400*30), int64(1))
		}
	}
	f.Fuzz(func(t *testing.T, expr string, zone, policy uint8, unix, nanos int64) {
		before := used(t)
		spec := with(cron(expr, fuzzZones[int(zone)%len(fuzzZones)]), schedule.Gaps()[policy%2], schedule.Folds()[policy/2%3])
		spec.Seed = expr
		s, err := schedule.Parse(spec)
		if err != nil {
			if err.Error() == "" {
				t.Error("no reason")
			}
			return
		}
		from := time.Unix(unix, nanos)
		var walked []time.Time
		for at := from; len(walked) < 50; {
			next, ok := s.Next(at)
			if !ok {
				break
			}
			if !next.After(at) {
				t.Fatalf("%+v: Next(%v) = %v", spec, at, next)
			}
			walked = append(walked, next)
			at = next
		}
		if n := len(walked); n > 0 {
			last := s.Last(from, walked[n-1], n)
			for i := range last {
				if len(last) != n || !last[i].Equal(walked[i]) {
					t.Fatalf("%+v: Last = %v, Next walked %v", spec, last, walked)
				}
			}
			if got, exact := s.Count(from, walked[n-1], n); got != n || !exact {
				t.Fatalf("%+v: Count = %d, %v; want %d", spec, got, exact, n)
			}
		}
		s.Notes(from, from, 3)
		if took := used(t) - before; took > time.Minute { // an endless search
			t.Fatalf("%+v from %v took %v", spec, from, took)
		}
	})
}

// used returns the processor time of this process. Other programs may leave it little of a minute.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var fuzzZones = []string{
	"", "America/New_York", "Pacific/Chatham", "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Europe/Dublin",
	"Africa/Casablanca", "Africa/Monrovia", "America/Nuuk", "Africa/Cairo",
}
