package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// reader turns the nodes of one source into values. What cannot be read is reported to its collector and is the zero
// value in the result, so that the caller reads on.
type reader struct {
	src *source
	c   *collector
}

func (r *reader) fail(n *yaml.Node, hint, format string, args ...any) {
	if r.c.full() {
		r.c.found++
		return
	}
	r.c.add(r.src.blame(n.Line, n.Column, fmt.Sprintf(format, args...), hint))
}

// mistakes is how many were found so far: a caller compares two values to learn whether a part was sound.
func (r *reader) mistakes() int { return r.c.found }

// field is a key of a mapping and how its value goes into a T.
type field[T any] struct {
	name string
	read func(r *reader, n *yaml.Node, to *T)
}

func fieldNames[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// readFields reads a mapping of known keys. unknown reports a key that is not among them; nil stands for the usual way.
func readFields[T any](r *reader, n *yaml.Node, what string, fields []field[T], unknown func(key *yaml.Node), to *T) bool {
	return r.pairs(n, what, func(key, value *yaml.Node) {
		for _, f := range fields {
			if f.name != key.Value {
				continue
			}
			if isNull(value) {
				r.fail(key, "give it one or remove the key", "%s has no value", key.Value)
				return
			}
			f.read(r, value, to)
			return
		}
		if unknown != nil {
			unknown(key)
			return
		}
		r.unknown(key, what, fieldNames(fields))
	})
}

func (r *reader) unknown(key *yaml.Node, what string, known []string) {
	if r.c.full() { // what is dear and not kept is left out
		r.c.found++
		return
	}
	hint := didYouMean(key.Value, known)
	if hint == "" && len(known) <= 12 {
		hint = "use " + oneOf(known)
	}
	r.fail(key, hint, "unknown key %s in %s", quote(key.Value), what)
}

// pairs calls do for each key of a mapping; a key that comes twice is reported and left out.
func (r *reader) pairs(n *yaml.Node, what string, do func(key, value *yaml.Node)) bool {
	if n.Kind != yaml.MappingNode {
		r.wrongType(n, what, "a mapping (key: value)")
		return false
	}
	if !r.plainTag(n, what) {
		return false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || isNull(key) || !r.plainTag(key, "key") {
			r.fail(key, "", "key in %s must be a word", what)
			continue
		}
		if line, ok := lines[key.Value]; ok {
			r.fail(key, "remove one of the two", "duplicate key %s in %s: first given at line %d", quote(key.Value), what, line)
			continue
		}
		lines[key.Value] = key.Line
		do(key, value)
	}
	return true
}

// items calls do for each element of a list; a value that is no list is taken for a list of one if single allows it.
func (r *reader) items(n *yaml.Node, what string, single bool, do func(i int, n *yaml.Node)) {
	if n.Kind == yaml.ScalarNode && single {
		do(0, n)
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.wrongType(n, what, "a list")
		return
	}
	if len(n.Content) == 0 {
		r.fail(n, "remove the key or add to the list", "%s is an empty list", what)
	}
	for i, child := range n.Content {
		do(i, child)
	}
}

// plainTag refuses tags such as !secret and !!binary, which would be read as something else than they say.
func (r *reader) plainTag(n *yaml.Node, what string) bool {
	switch n.Tag {
	case "", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!map", "!!seq", "!!merge":
		return true
	}
	r.fail(n, "remove the tag", "%s has the YAML tag %s, which has no meaning here", what, quote(n.Tag))
	return false
}

func (r *reader) wrongType(n *yaml.Node, what, want string) {
	r.fail(n, "", "%s must be %s, not %s", what, want, kindOf(n))
}

// kindOf names what a node is in words.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + abbreviate(n.Value)
	case "!!bool":
		return "the boolean " + abbreviate(n.Value)
	case "!!timestamp":
		return "the time " + abbreviate(n.Value)
	}
	return "the text " + quote(n.Value)
}

func abbreviate(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// scalar returns the source text of any scalar.
func (r *reader) scalar(n *yaml.Node, what, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.wrongType(n, what, want)
		return "", false
	}
	return n.Value, r.plainTag(n, what)
}

// text reads a string of at most limit bytes. An unquoted number or boolean is refused: its text may not be what was
// meant (010, 1e3, yes).
func (r *reader) text(n *yaml.Node, what string, limit int) string {
	s, ok := r.scalar(n, what, "a text")
	if !ok {
		return ""
	}
	if n.Tag != "!!str" && n.Tag != "!!timestamp" && n.Tag != "!" {
		r.fail(n, "put it in quotes", "%s must be a text, not %s", what, kindOf(n))
		return ""
	}
	return r.limited(n, what, s, limit)
}

func (r *reader) limited(n *yaml.Node, what, s string, limit int) string {
	if len(s) > limit {
		r.fail(n, "", "%s has %d bytes, at most %d are allowed", what, len(s), limit)
		return ""
	}
	return s
}

// required is text that may not be empty.
func (r *reader) required(n *yaml.Node, what string, limit int) string {
	before := r.mistakes()
	s := r.text(n, what, limit)
	if s == "" && r.mistakes() == before {
		r.fail(n, "", "%s is empty", what)
	}
	return s
}

// number reads an integer between low and high.
func (r *reader) number(n *yaml.Node, what string, low, high int) int {
	s, ok := r.scalar(n, what, "a number")
	if !ok {
		return 0
	}
	v, err := strconv.Atoi(s)
	switch {
	case n.Tag == "!!int" && err != nil && len(s) < 19:
		r.fail(n, "", "%s %s: write a plain decimal number", what, s)
	case n.Tag != "!!int":
		r.wrongType(n, what, "a whole number")
	case err != nil || v < low || v > high:
		r.fail(n, "", "%s %s is not between %d and %d", what, abbreviate(s), low, high)
	default:
		return v
	}
	return 0
}

// count is number within a range.
func (r *reader) count(n *yaml.Node, what string, may job.Range[int]) int {
	return r.number(n, what, may.Low, may.High)
}

// boolean reads true or false.
func (r *reader) boolean(n *yaml.Node, what string) bool {
	s, ok := r.scalar(n, what, "true or false")
	if !ok {
		return false
	}
	if n.Tag != "!!bool" {
		hint := ""
		switch s {
		case "yes", "on", "Yes", "On", "YES", "ON":
			hint = "write true"
		case "no", "off", "No", "Off", "NO", "OFF":
			hint = "write false"
		}
		r.fail(n, hint, "%s must be true or false, not %s", what, kindOf(n))
		return false
	}
	return s == "true" || s == "True" || s == "TRUE"
}

// duration reads Go's notation, between low and high.
func (r *reader) duration(n *yaml.Node, what string, low, high time.Duration) time.Duration {
	s, ok := r.scalar(n, what, "a duration")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case n.Tag == "!!int" || n.Tag == "!!float" && err != nil:
		r.fail(n, fmt.Sprintf("for seconds write %ss; the units are ms, s, m and h", abbreviate(s)), "%s %s has no unit", what, quote(s))
	case err != nil:
		r.fail(n, durationHint(s), "%s %s is not a duration", what, quote(s))
	case d < low && low <= 1:
		r.fail(n, "", "%s %s must be %s", what, quote(s), map[bool]string{true: "more than zero", false: "zero or more"}[low == 1])
	case d < low || d > high:
		r.fail(n, "", "%s %s is not between %v and %v", what, quote(s), job.Duration(low), job.Duration(high))
	default:
		return d
	}
	return 0
}

// span is duration within a range.
func (r *reader) span(n *yaml.Node, what string, may job.Range[job.Duration]) job.Duration {
	return job.Duration(r.duration(n, what, may.Low.Std(), may.High.Std()))
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

// choice reads one of a few words.
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
		names[i] = string(v)
	}
	r.fail(n, didYouMean(s, names), "%s %s is not %s", what, quote(s), oneOf(all))
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
		}
		r.fail(n, hint, "%s %s is not an RFC 3339 time", what, quote(s))
		return time.Time{}
	}
	return t.UTC()
}
