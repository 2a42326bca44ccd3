package history

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestCalendarsAgree compares the slots of jobs with calendars with those of package schedule. The two implementations are
// independent.
func TestCalendarsAgree(t *testing.T) {
	chance := rand.New(rand.NewPCG(2, 2))
	pick := func(options ...string) string { return options[chance.IntN(len(options))] }
	compared := 0
	for _, w := range []struct{ zone, from string }{
		{"UTC", "2026-12-20T12:00:00Z"},
		{"Europe/Berlin", "2026-03-24T06:00:00Z"},
		{"America/New_York", "2026-10-28T12:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-01T00:00:00Z"},
		{"Pacific/Apia", "2011-12-27T00:00:00Z"},
	} {
		from, err := time.Parse(time.RFC3339, w.from)
		if err != nil {
			t.Fatal(err)
		}
		until := from.AddDate(0, 0, 9)
		for range 10 {
			text := pick("30 2 * * *", "15 */6 * * *", "0 0,3 * * sat,sun", "0 12 1,15,29,31 * *")
			date := func() string { return from.AddDate(0, 0, chance.IntN(12)).Format(time.DateOnly) }
			c := &job.Calendar{On: "c", Else: pick("skip", "next", "previous"), Dates: []string{date()}, Except: []string{date(), date()}}
			if chance.IntN(4) == 0 {
				c.On, c.NotOn = "", "c"
			}
			if chance.IntN(3) > 0 {
				c.Weekdays = []string{pick("mon-fri", "sat-mon", "wed")}
			}
			spec := job.Spec{
				Schedule: []string{text}, Timezone: w.zone, Calendar: c, Exclude: []string{date()},
				DST: &job.DST{Gap: pick("run", "skip"), Fold: pick("first", "last", "both")},
			}.WithDefaults()
			j := Job{Name: "a", Spec: spec}
			got, err := slotsOf(j, from, until)
			if err != nil {
				t.Fatal(err)
			}
			want, err := slotsBySchedule(j, from, until)
			if err != nil && !strings.Contains(err.Error(), "never fires") { // then there must be no slot here
				t.Fatal(err)
			}
			compared += len(got)
			if diff := cmp.Diff(utc(want), utc(got)); diff != "" {
				t.Errorf("%q in %s, %+v, without %v (-schedule +here):\n%s", text, w.zone, *c, spec.Exclude, diff)
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d slots were compared", compared)
	}
}
