package importer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/test/lacking"
)

// TestRandomCalendarsHaveTheSlotsOfSystemd compares random OnCalendar expressions with systemd-analyze. A line that systemd ignores
// must be reported, and a translation without a report must have the instants of systemd.
func TestRandomCalendarsHaveTheSlotsOfSystemd(t *testing.T) {
	const expressions = 400
	r := calendarWriter{rand.New(rand.NewPCG(10, 2))} //nolint:gosec // the same expressions each time
	refused, compared := 0, 0
	for range expressions {
		text, base := r.expression(), bases[r.IntN(len(bases))]
		if strings.Contains(text, "/B") || strings.Contains(text, "CET") {
			base = bases[0] // where an hour is shown twice, systemd leaves out one of two slots of *:30, and rota has both
		}
		want, accepted := elapsesOf(t, text, base)
		var res importer.Result
		importer.Systemd(map[string]string{
			"x.timer": "[Timer]\nOnCalendar=" + text + "\n", "x.service": "[Service]\nExecStart=/bin/true\n",
		}, "UTC", &res)
		spec, ok := res.Jobs["x"]
		switch {
		case !accepted && res.Complete():
			t.Errorf("%q: systemd refuses it, and the import made %v", text, spec.Schedule)
		case !accepted:
			refused++
		case ok && res.Complete() && want != nil:
			compared++
			when, err := policy.When("x", &spec)
			if err != nil {
				t.Fatal(err)
			}
			got := []time.Time{}
			for at, ok := when.Next(base); ok && len(got) < max(1, len(want)); at, ok = when.Next(at) {
				got = append(got, at.UTC())
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q after %v:\n got %v of %v %v\nwant %v", text, base, got, spec.Schedule, spec.At, want)
			}
		}
	}
	t.Logf("%d expressions: systemd refuses %d, %d were compared", expressions, refused, compared)
	if refused < expressions/10 || compared < expressions/4 {
		t.Errorf("of %d expressions systemd refused %d, and %d were compared: the generator is too narrow", expressions, refused, compared)
	}
}

var elapses = regexp.MustCompile(`(?m)^\s*(?:Next elapse|Iter(?:ation|\.) #\d+): \w{3} (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) UTC$`)

// elapsesOf returns the next instants of an expression by systemd-analyze; false if systemd refuses it. They are nil if
// systemd does not find them.
func elapsesOf(t *testing.T, text string, base time.Time) (slots []time.Time, accepted bool) {
	t.Helper()
	lacking.Program(t, "systemd-analyze", "systemd")
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", "calendar", "--iterations=20", "--base-time="+base.Format("2006-01-02 15:04:05 UTC"), "--", text)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
	case strings.Contains(string(out), "Failed to determine next elapse"): // systemd gives up the search
		return nil, true
	case strings.Contains(string(out), "Failed to parse"):
		return nil, false
	default:
		t.Fatalf("%q: %v\n%s", text, err, out)
	}
	slots = []time.Time{}
	for _, m := range elapses.FindAllSubmatch(out, -1) {
		at, err := time.Parse(time.DateTime, string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, at)
	}
	return slots, true
}

// calendarWriter writes random expressions. Most of them are valid.
type calendarWriter struct{ *rand.Rand }

func (r calendarWriter) one(list ...string) string { return list[r.IntN(len(list))] }

func (r calendarWriter) in(percent int) bool { return r.IntN(100) < percent }

func (r calendarWriter) expression() string {
	var words []string
	if r.in(12) {
		words = append(words, r.one("minutely", "hourly", "daily", "Weekly", "monthly", "quarterly", "semiannually", "YEARLY", "biannually"))
	} else {
		if r.in(40) {
			words = append(words, r.weekdays())
		}
		if r.in(60) {
			words = append(words, r.date())
		}
		if r.in(60) || len(words) == 0 {
			words = append(words, r.time())
		}
	}
	if r.in(10) {
		words = append(words, r.one("UTC", "utc", "Europe/Berlin", "Local", "CET", "Nowhere/City"))
	}
	if r.in(5) {
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	}
	text := strings.Join(words, " ")
	if r.in(10) { // a mistake of the hand
		at := r.IntN(len(text))
		text = text[:at] + r.one("*", "/", ",", ".", ":", "~", "-", "0", "7", "") + text[at+r.IntN(2):]
	}
	return strings.TrimSpace(text)
}

func (r calendarWriter) weekdays() string {
	day := func() string {
		return r.one("Mon", "tue", "WED", "Thursday", "fri", "Sat", "sunday", "Sun", "Thu")
	}
	var list []string
	for range 1 + r.IntN(3) {
		part := day()
		if r.in(30) {
			part += r.one("..", "..", "-") + day()
		}
		list = append(list, part)
	}
	return strings.Join(list, ",") + r.one("", "", "", ",")
}

func (r calendarWriter) date() string {
	year := ""
	if r.in(80) {
		year = r.one("*", "*", "*", "*", "2027", "27", "2026..2028", "2026/2") + "-"
	}
	return year + r.component(1, 12) + r.one("-", "-", "-", "-", "-", "~") + r.component(1, 31)
}

func (r calendarWriter) time() string {
	text := r.component(0, 23) + ":" + r.component(0, 59)
	if r.in(30) {
		text += ":" + r.component(0, 59)
	}
	return text
}

// component writes a part of a date or time, such as *, 7, 1..5, 1/3, 2..20/6 or a list of these. It may leave the range a little.
func (r calendarWriter) component(low, high int) string {
	if r.in(30) {
		return "*"
	}
	value := func() int {
		if r.in(2) {
			return high + 1
		}
		return low + r.IntN(high-low+1)
	}
	var list []string
	for range 1 + r.IntN(4)/3 {
		from := value()
		text := fmt.Sprint(from)
		if r.in(40) {
			text = fmt.Sprintf("%02d", from)
		}
		if r.in(30) {
			text += ".." + fmt.Sprint(min(high, from+r.IntN(high)-r.IntN(2)))
		}
		if high != 31 && r.in(30) { // systemd 252 forgets days of January with a step such as 3/11
			text += "/" + fmt.Sprint(r.IntN(12))
		}
		list = append(list, text)
	}
	return strings.Join(list, ",")
}
