package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestSlotsAgree compares the slots of this package with those of package schedule, also around changes of clocks. The two
// implementations are independent.
func TestSlotsAgree(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	pick := func(options string) string {
		list := strings.Fields(options)
		return list[chance.IntN(len(list))]
	}
	here := 0
	for _, w := range []struct {
		zone, from string
	}{
		{"UTC", "2026-02-26T12:00:00Z"},
		{"Europe/Berlin", "2026-03-28T06:00:00Z"},
		{"Europe/Berlin", "2026-10-24T06:00:00Z"},
		{"America/New_York", "2026-03-07T12:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T00:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03T00:00:00Z"},
		{"America/Sao_Paulo", "2018-11-03T12:00:00Z"},
		{"Pacific/Apia", "2011-12-29T00:00:00Z"},
	} {
		from, err := time.Parse(time.RFC3339, w.from)
		if err != nil {
			t.Fatal(err)
		}
		until := from.Add(60 * time.Hour)
		for range 20 {
			text := strings.Join([]string{
				pick("0 30 15,45 */20 * 5-10"), pick("* 0 2 1-3 2,3,23 */2 0-23"), pick("* * 1 28-31 */2"), pick("* * 1-12 MAR,OCT"), pick("* * ? SUN 1-5 7"),
			}, " ")
			spec := job.Spec{
				Schedule: []string{text}, Timezone: w.zone, DST: &job.DST{Gap: pick("run skip"), Fold: pick("first last both")},
			}.WithDefaults()
			if chance.IntN(4) == 0 {
				spec.Exclude = []string{from.Add(30 * time.Hour).Format(time.DateOnly)}
			}
			j := Job{Name: "a", Spec: spec}
			if _, err := parseCron(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got, err := slotsOf(j, from, until)
			if err != nil {
				t.Fatal(err)
			}
			want, err := slotsBySchedule(j, from, until)
			if err != nil {
				t.Fatal(err)
			}
			here += len(got)
			if diff := cmp.Diff(utc(want), utc(got)); diff != "" {
				t.Errorf("%q in %s, %+v (-schedule +here):\n%s", text, w.zone, *spec.DST, diff)
			}
		}
	}
	if here < 1000 {
		t.Errorf("only %d slots were compared", here)
	}
}

func utc(slots []time.Time) (text []string) {
	for _, s := range slots {
		text = append(text, s.UTC().Format(time.RFC3339Nano))
	}
	return text
}

func TestSlots(t *testing.T) {
	every := job.Duration(1500 * time.Millisecond)
	start, end := sec(3), sec(6)
	for _, c := range []struct {
		name string
		spec job.Spec
		want []float64 // seconds after began
	}{
		{"multiples", job.Spec{Every: every}, []float64{1.5, 3, 4.5, 6, 7.5, 9}},
		{"from start, up to end", job.Spec{Every: every, Start: &start, End: &end}, []float64{3, 4.5}},
		{"instants", job.Spec{At: []time.Time{sec(2), sec(1), sec(2), sec(0), sec(11)}}, []float64{1, 2}},
		{"seconds", job.Spec{Schedule: []string{"*/4 * * * * *", "8,9 0 12 * * *"}}, []float64{4, 8, 9}},
		{"what is left to package schedule", job.Spec{Schedule: []string{"*/4 * * L * *"}}, nil},
		{"an excluded day", job.Spec{Every: every, Exclude: []string{"2026-03-01"}}, nil},
		{"excluded elsewhere", job.Spec{Every: every, Exclude: []string{"2026-03-01"}, Timezone: "Pacific/Kiritimati"}, []float64{1.5, 3, 4.5, 6, 7.5, 9}},
		{"no schedule", job.Spec{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := slotsOf(Job{Name: "a", Spec: c.spec}, began, sec(10))
			if err != nil {
				t.Fatal(err)
			}
			var seconds []float64
			for _, s := range got {
				seconds = append(seconds, s.Sub(began).Seconds())
			}
			if diff := cmp.Diff(c.want, seconds); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
	for _, bad := range []job.Spec{{Schedule: []string{"* * *"}}, {Schedule: []string{"nonsense"}}, {Every: every, Timezone: "Nowhere"}} {
		if _, err := slotsOf(Job{Name: "a", Spec: bad}, began, sec(10)); err == nil {
			t.Errorf("%+v: no error", fmt.Sprint(bad.Schedule, bad.Timezone))
		}
	}
}
