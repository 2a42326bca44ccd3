package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// TestNextAgreesWithBruteForce compares random expressions with an oracle that tries every minute of a few weeks.
func TestNextAgreesWithBruteForce(t *testing.T) {
	windows := []struct {
		zone, from string
		days       int
	}{
		{"UTC", "2028-02-20T00:00:00Z", 60},
		{"America/New_York", "2026-03-05T00:00:00Z", 6},
		{"America/New_York", "2026-10-29T00:00:00Z", 6},
		{"Europe/Berlin", "2026-03-27T00:00:00Z", 6},
		{"Europe/Berlin", "2026-10-22T12:00:00Z", 6},
		{"Australia/Lord_Howe", "2026-10-01T00:00:00Z", 6},
		{"Australia/Lord_Howe", "2026-04-02T00:00:00Z", 6},
		{"Pacific/Chatham", "2026-04-02T00:00:00Z", 6},
		{"America/Sao_Paulo", "2018-11-01T12:00:00Z", 6},
		{"America/Sao_Paulo", "2018-02-15T00:00:00Z", 6},
		{"Africa/Cairo", "2026-04-21T00:00:00Z", 6},
		{"Antarctica/Troll", "2026-03-27T00:00:00Z", 6},
		{"Antarctica/Troll", "2026-10-23T00:00:00Z", 6},
		{"Pacific/Apia", "2011-12-26T00:00:00Z", 8},
		{"America/Nuuk", "2026-03-26T00:00:00Z", 6},
		{"Africa/Casablanca", "2026-02-12T00:00:00Z", 6},
	}
	rounds := 40
	if sampled || testing.Short() {
		rounds = 4
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, w := range windows {
		o := newOracle(t, w.zone, instant(t, w.from), w.days)
		for range rounds {
			e := randomExpression(random)
			gap := schedule.Gaps()[random.IntN(2)]
			fold := schedule.Folds()[random.IntN(3)]
			s := parse(t, with(cron(e.String(), w.zone), gap, fold))
			want := o.slots(e, gap, fold)
			var got []int64
			for at := o.from; ; {
				next, ok := s.Next(at)
				if !ok || next.After(o.to) {
					break
				}
				got = append(got, next.Unix())
				at = next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q in %s, gap %s, fold %s (-oracle +Next):\n%s", e, w.zone, gap, fold, diff)
			}
			if n, exact := s.Count(o.from, o.to, 1<<20); n != len(want) || !exact {
				t.Fatalf("%q in %s: Count = %d, %v; want %d", e, w.zone, n, exact, len(want))
			}
			k := min(len(want), 7)
			var last []int64
			for _, at := range s.Last(o.from, o.to, k) {
				last = append(last, at.Unix())
			}
			if !slices.Equal(last, want[len(want)-k:]) {
				t.Fatalf("%q in %s: Last = %v, want %v", e, w.zone, last, want[len(want)-k:])
			}
		}
	}
}

// expression is a random cron expression: for each field the text and
// the values it stands for.
type expression struct {
	text   [5]string
	values [5]map[int]bool
}

func (e expression) String() string { return strings.Join(e.text[:], " ") }

func randomExpression(random *rand.Rand) expression {
	var e expression
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	for i, l := range limits {
		low, high := l[0], l[1]
		values := map[int]bool{}
		value := func() int { return low + random.IntN(high-low+1) }
		shape := random.IntN(6)
		if i == 1 && random.IntN(2) == 0 {
			shape = 5 // shape 5 picks the hours at which clocks change
		}
		if i >= 2 && random.IntN(3) > 0 || i == 3 {
			shape = 0
		}
		switch shape {
		case 0:
			e.text[i] = "*"
			for v := low; v <= high; v++ {
				values[v] = true
			}
		case 1:
			step := 2 + random.IntN((high-low)/2)
			e.text[i] = fmt.Sprintf("*/%d", step)
			for v := low; v <= high; v += step {
				values[v] = true
			}
			if i == 4 && step == 7 {
				values[0] = true
			}
		case 2:
			a, b := value(), value()
			e.text[i] = fmt.Sprintf("%d-%d", a, b)
			for v := a; ; v++ {
				if v > high {
					v = low
				}
				values[v] = true
				if v == b {
					break
				}
			}
		case 5:
			if i == 1 {
				v := random.IntN(4)
				e.text[i], values[v] = fmt.Sprint(v), true
				break
			}
			fallthrough
		default:
			var texts []string
			for range 1 + random.IntN(3) {
				v := value()
				texts = append(texts, fmt.Sprint(v))
				values[v] = true
			}
			e.text[i] = strings.Join(texts, ",")
		}
		e.values[i] = values
	}
	return e
}

func (e expression) matches(wall time.Time) bool {
	dom, dow := e.values[2][wall.Day()], e.values[4][int(wall.Weekday())]
	day := dom && dow
	if e.text[2][0] != '*' && e.text[4][0] != '*' { // as Vixie cron: a step does not matter
		day = dom || dow
	}
	return day && e.values[0][wall.Minute()] && e.values[1][wall.Hour()] && e.values[3][int(wall.Month())]
}

// oracle knows when the clock of a zone shows each wall minute, because it reads that clock minute by minute.
type oracle struct {
	from, to time.Time
	shown    map[time.Time][]int64 // wall time, as if UTC → instants
	low      time.Time             // range of wall times
	high     time.Time
}

func newOracle(t *testing.T, name string, from time.Time, days int) *oracle {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{from: from, to: from.AddDate(0, 0, days), shown: map[time.Time][]int64{}}
	for at := from.AddDate(0, 0, -3); at.Before(o.to.AddDate(0, 0, 3)); at = at.Add(time.Minute) {
		y, m, d := at.In(zone).Date()
		hour, minute, _ := at.In(zone).Clock()
		wall := time.Date(y, m, d, hour, minute, 0, 0, time.UTC)
		o.shown[wall] = append(o.shown[wall], at.Unix())
	}
	o.low, o.high = from.AddDate(0, 0, -2), o.to.AddDate(0, 0, 2)
	return o
}

func (o *oracle) slots(e expression, gap schedule.Gap, fold schedule.Fold) []int64 {
	elapsed := e.text[0][0] == '*' || e.text[1][0] == '*'
	set := map[int64]bool{}
	var lastShown, lastInstant int64 // the latest wall time that was shown, and when
	for wall := o.low; wall.Before(o.high); wall = wall.Add(time.Minute) {
		instants := o.shown[wall]
		if len(instants) > 0 {
			lastShown, lastInstant = wall.Unix(), instants[len(instants)-1]
		}
		if !e.matches(wall) {
			continue
		}
		switch {
		case len(instants) == 0 && !elapsed && gap == schedule.GapRun:
			set[lastInstant+wall.Unix()-lastShown] = true
		case len(instants) == 0:
		case elapsed || fold == schedule.FoldBoth:
			for _, at := range instants {
				set[at] = true
			}
		case fold == schedule.FoldFirst:
			set[instants[0]] = true
		case fold == schedule.FoldLast:
			set[instants[len(instants)-1]] = true
		}
	}
	var slots []int64
	for at := range set {
		if at > o.from.Unix() && at <= o.to.Unix() {
			slots = append(slots, at)
		}
	}
	slices.Sort(slots)
	return slots
}
