package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// functions returns the functions of the templates. links has the paths of the static files.
func functions(links map[string]string) template.FuncMap {
	return template.FuncMap{
		"asset":   func(name string) string { return links[name] },
		"time":    timeTag,
		"ago":     agoTag,
		"tick":    tickTag,
		"span":    spanText,
		"seconds": secondsText,
		"state":   stateTag,
		"runlink": runLink,
		"joblink": func(name string) string { return "/jobs/" + url.PathEscape(name) },
		"bytes":   bytesText,
		"plural":  plural,
		"digits":  digits,
		"dict":    dict,
		"join":    strings.Join,
		"late":    lateText,
		"sub":     func(a, b time.Time) time.Duration { return a.Sub(b) },
		"took":    func(from, now time.Time) time.Duration { return max(0, now.Sub(from)) }, // clocks differ
		"prose":   proseTag,
		"waslate": wasLate,
		"cut":     cut,
		"count":   func(m map[job.State]int, state string) int { return m[job.State(state)] },
		"strip":   stripHTML,
		"event":   eventTag,
		"success": success,
		"trend":   trendOf,

		"backfilled": func(v api.BackfillView) string { return digits(v.Started + v.Passed) },
	}
}

// dict makes a map for a part that needs several values.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// The layouts of times. The script writes times in other zones in the same layouts, so that nothing moves.
const (
	longTime = "Jan 02 15:04:05"
	yearTime = "2006 Jan 02 15:04" // in another year than the present one
)

func instantOf(v any) (time.Time, bool) {
	switch t := v.(type) {
	case time.Time:
		return t.UTC(), !t.IsZero()
	case *time.Time:
		if t != nil {
			return t.UTC(), !t.IsZero()
		}
	}
	return time.Time{}, false
}

// timeTag shows an instant in UTC. The script shows it in the zone of the viewer or of the job.
func timeTag(v any) template.HTML {
	t, ok := instantOf(v)
	if !ok {
		return `<span class="none">–</span>`
	}
	full := t.Format(time.RFC3339Nano)
	layout := longTime
	if t.Year() != time.Now().UTC().Year() {
		layout = yearTime
	}
	return template.HTML(
		fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, full, t.Format("2006-01-02 15:04:05.999"), t.Format(layout)),
	)
}

// tickTag shows an instant at an axis: the time of day, or with days also the date.
func tickTag(t time.Time, days bool) template.HTML {
	form, layout := "time", "15:04"
	if days {
		form, layout = "day", "Jan 02 15:04"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-short="%s" title="%s UTC">%s</time>`,
		t.UTC().Format(time.RFC3339), form, t.UTC().Format("2006-01-02 15:04"), t.UTC().Format(layout)))
}

// agoTag shows the distance between an instant and now.
func agoTag(v any, now time.Time) template.HTML {
	t, ok := instantOf(v)
	if !ok {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-ago title="%s UTC">%s</time>`,
		t.Format(time.RFC3339Nano), t.Format("2006-01-02 15:04:05"), agoText(now.Sub(t))))
}

func utcText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

func agoText(d time.Duration) string {
	switch {
	case d < 0 && d > -time.Second:
		return "now"
	case d < 0:
		return "in " + roughText(-d)
	}
	return roughText(d) + " ago"
}

// roughText is a duration in its largest unit of which there are at least two, for times that need no precision.
func roughText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

func secondsText(s float64) string { return spanText(time.Duration(s * float64(time.Second))) }

// spanText is a duration with about three digits.
func spanText(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "−", -d
	}
	switch {
	case d < time.Millisecond:
		return "0 ms"
	case d < time.Second:
		return sign + fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return sign + fmt.Sprintf("%.1f s", math.Floor(d.Seconds()*10)/10)
	case d < time.Minute:
		return sign + fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return sign + fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return sign + fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return sign + fmt.Sprintf("%d d %d h", int(d.Hours()/24), int(d.Hours())%24)
}

// look is how a state is shown: its color class, its sign, and its words.
type look struct{ class, sign, words string }

var looks = map[string]look{
	string(job.Succeeded): {"ok", "✓", "succeeded"},
	string(job.Failed):    {"bad", "✕", "failed"},
	string(job.TimedOut):  {"bad", "✕", "timed out"},
	string(job.Lost):      {"bad", "?", "lost"},
	string(job.Canceled):  {"off", "⊘", "canceled"},
	string(job.Skipped):   {"off", "»", "skipped"},
	string(job.Running):   {"run", "▶", "running"},
	string(job.Armed):     {"run", "◔", "armed"},
	string(job.Pending):   {"warn", "…", "waiting"},
	"failing":             {"bad", "✕", "failing"},
	"waiting":             {"warn", "…", "waiting"},
	"paused":              {"warn", "‖", "paused"},
	"ok":                  {"ok", "✓", "ok"},
	"new":                 {"off", "○", "new"},
	"warn":                {"warn", "!", "warning"},

	string(job.BackfillDone):    {"ok", "✓", "done"},
	string(job.BackfillStopped): {"off", "⊘", "stopped"},
	"bad":                       {"bad", "✕", "problem"},
}

// stateTag shows a state as a sign and a word. The color only repeats them.
func stateTag(v any) template.HTML {
	l, ok := looks[fmt.Sprint(v)]
	if !ok {
		return template.HTML(template.HTMLEscapeString(fmt.Sprint(v)))
	}
	return template.HTML(
		`<span class="state ` + l.class + `"><span class="sign" aria-hidden="true">` + l.sign + `</span>` + l.words + `</span>`,
	)
}

// eventTag shows the kind of an event.
func eventTag(kind string) template.HTML {
	class := map[string]string{
		"lost_member": "bad", "failed": "bad", "lost": "bad", "late": "warn", "missed": "warn", "retried": "warn", "fenced": "warn",
		"leader": "run", "member": "ok",
	}[kind]
	return template.HTML(
		`<span class="state ` + class + `">` + template.HTMLEscapeString(strings.ReplaceAll(kind, "_", " ")) + `</span>`,
	)
}

// runLink returns the path of the page of a run, from its name.
func runLink(name string) string {
	owner, id, _ := strings.Cut(name, "/")
	return "/runs/" + url.PathEscape(owner) + "/" + url.PathEscape(id)
}

// lateText says how long after its slot a run started, if that is a second or more.
func lateText(slot, started time.Time) string {
	if d := started.Sub(slot); !started.IsZero() && d >= time.Second {
		return "+" + spanText(d)
	}
	return ""
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return digits(n) + " " + one + "s"
}

// digits writes a number. From 10,000 on, it groups the digits by commas.
func digits(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; n >= 10_000 && i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func bytesText(n int64) string {
	f, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 || f >= 100 {
		return fmt.Sprintf("%.0f\u00a0%s", f, units[i])
	}
	return fmt.Sprintf("%.1f\u00a0%s", f, units[i])
}
