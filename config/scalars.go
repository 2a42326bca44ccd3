package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// plainTag refuses tags such as !secret and !!binary, because rota does not act on them.
func (r *reader) plainTag(n *yaml.Node, what string) bool {
	switch n.Tag {
	case "", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!map", "!!seq", "!!merge":
		return true
	}
	r.fail(n, "remove the tag", "%s has the YAML tag %s, which has no meaning here", what, quote(n.Tag))
	return false
}

// scalar returns the text of any scalar. It reports a node that is no scalar.
func (r *reader) scalar(n *yaml.Node, what, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.wrongType(n, what, want)
		return "", false
	}
	return n.Value, r.plainTag(n, what)
}

// text reads a text of at most limit bytes. It refuses a number or boolean without quotes (010, 1e3, yes), because other YAML
// readers may interpret it differently.
func (r *reader) text(n *yaml.Node, what string, limit int) string {
	s, ok := r.scalar(n, what, "a text")
	if !ok {
		return ""
	}
	if n.Tag != "!!str" && n.Tag != "!!timestamp" && n.Tag != "!" {
		r.fail(n, "put it in quotes", "%s must be a text, not %s", what, r.kindOf(n))
		return ""
	}
	return r.limited(n, what, s, limit)
}

func (r *reader) limited(n *yaml.Node, what, s string, limit int) string {
	if len(s) > limit {
		r.fail(n, "keep large data elsewhere and name the place", "%s has %d bytes, at most %d are allowed", what, len(s), limit)
		return ""
	}
	return s
}

// argument refuses a text that is too long, or that the kernel cannot pass to a program.
func (r *reader) argument(n *yaml.Node, what, s string) string {
	if strings.Contains(s, "\x00") {
		r.fail(n, "no program can be given one", "%s has a NUL byte", what)
	}
	return r.limited(n, what, s, maxText)
}

// required reads a text that must not be empty.
func (r *reader) required(n *yaml.Node, what string, limit int) string {
	before := r.mistakes()
	s := r.text(n, what, limit)
	if s == "" && r.mistakes() == before {
		r.fail(n, "give it a value or remove it", "%s is empty", what)
	}
	return s
}

// number reads a whole number within a range.
func (r *reader) number(n *yaml.Node, what string, may job.Range[int]) int {
	s, ok := r.scalar(n, what, "a number")
	if !ok {
		return 0
	}
	v, err := strconv.Atoi(s)
	switch {
	case n.Tag == "!!int" && err != nil && len(s) < 19:
		r.fail(n, within("a whole number", may), "%s %s: write a plain decimal number", what, s)
	case n.Tag == "!!float" && r.src.json: // such as 2.0, which the error cannot show
		r.fail(n, within("a whole number", may), "%s must be a whole number in digits, without a point or an exponent", what)
	case n.Tag != "!!int":
		r.fail(n, within("a whole number", may), "%s must be a whole number, not %s", what, r.kindOf(n))
	case err != nil || !may.Holds(v):
		r.fail(n, within("a whole number", may), "%s %s is not between %d and %d", what, abbreviate(s), may.Low, may.High)
	default:
		return v
	}
	return 0
}

// within returns the hint for a value outside of its range.
func within[T cmp.Ordered](what string, may job.Range[T]) string {
	return fmt.Sprintf("write %s from %v to %v", what, may.Low, may.High)
}

// boolean reads true or false.
func (r *reader) boolean(n *yaml.Node, what string) bool {
	s, ok := r.scalar(n, what, "true or false")
	if !ok {
		return false
	}
	if n.Tag != "!!bool" {
		hint := "write true or false"
		switch s {
		case "yes", "on", "Yes", "On", "YES", "ON":
			hint = "write true"
		case "no", "off", "No", "Off", "NO", "OFF":
			hint = "write false"
		}
		r.fail(n, hint, "%s must be true or false, not %s", what, r.kindOf(n))
		return false
	}
	return s == "true" || s == "True" || s == "TRUE"
}

// duration reads a duration in Go's notation, within a range.
func (r *reader) duration(n *yaml.Node, what string, may job.Range[job.Duration]) job.Duration {
	s, ok := r.scalar(n, what, "a duration")
	if !ok {
		return 0
	}
	std, err := time.ParseDuration(s)
	d := job.Duration(std)
	switch {
	case n.Tag == "!!int" && d != 0 || (n.Tag == "!!int" || n.Tag == "!!float") && err != nil:
		r.fail(n, fmt.Sprintf("for seconds write %ss; the units are ms, s, m and h", abbreviate(s)), "%s %s has no unit", what, quote(s))
	case err != nil:
		r.fail(n, durationHint(s), "%s %s is not a duration", what, quote(s))
	case d < may.Low && may.Low <= 1:
		r.fail(n, "such as 30s, 10m or 1h30m", "%s %s must be %s", what, quote(s),
			map[bool]string{true: "more than zero", false: "zero or more"}[may.Low == 1])
	case !may.Holds(d):
		hint := within("a duration", may)
		if may.Low <= 1 { // the lower bound would not help the user
			hint = fmt.Sprintf("write %v or less", may.High)
		}
		r.fail(n, hint, "%s %s is not between %v and %v", what, quote(s), may.Low, may.High)
	default:
		return d
	}
	return 0
}

func durationHint(s string) string {
	if len(s) > 1 && len(s) < 20 {
		if days, err := strconv.Atoi(s[:len(s)-1]); err == nil {
			switch s[len(s)-1] {
			case 'd':
				return fmt.Sprintf("write %dh: a day is not always 24 hours, so that there is no unit for it", days*24)
			case 'w':
				return fmt.Sprintf("write %dh", days*24*7)
			}
		}
	}
	return "such as 30s, 10m or 1h30m"
}

// choice reads one word out of all.
func choice[T ~string](r *reader, n *yaml.Node, what string, all []T) T {
	s, ok := r.scalar(n, what, oneOf(all))
	if !ok {
		return ""
	}
	for _, v := range all {
		if string(v) == s {
			return v
		}
	}
	names := make([]string, len(all))
	for i, v := range all {
		if names[i] = string(v); strings.EqualFold(names[i], s) {
			r.fail(n, "write "+names[i], "%s %s is not %s", what, quote(s), oneOf(all))
			return ""
		}
	}
	r.fail(n, didYouMean(s, names, "write "+oneOf(all)), "%s %s is not %s", what, quote(s), oneOf(all))
	return ""
}

// instant reads an RFC 3339 time and returns it in UTC.
func (r *reader) instant(n *yaml.Node, what string) time.Time {
	s, ok := r.scalar(n, what, "a time")
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		hint := "such as 2026-12-24T18:00:00Z"
		if _, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
			hint = fmt.Sprintf("add the zone: %sZ for UTC, or an offset such as %s+01:00", s, s)
		} else if daily, err := time.Parse("15:04", s); err == nil {
			hint = fmt.Sprintf("for each day write schedule: \"%d %d * * *\"; an instant is such as 2026-12-24T18:00:00Z",
				daily.Minute(), daily.Hour())
		}
		r.fail(n, hint, "%s %s is not an RFC 3339 time", what, quote(s))
		return time.Time{}
	}
	return t.UTC()
}
