package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader converts the nodes of one source into values. For a mistake, it makes a report to its collector and returns the zero
// value. So the caller can continue to read.
type reader struct {
	src *source
	c   *collector

	example string // of the key that is read, as YAML on one line; empty outside of keys

	params  []use       // the templates of the job that is read which name a parameter; use.job is the parameter
	outputs []outputUse // the templates of the job that is read which name the output of a parent
}

// failFunc is fail or failLarge.
type failFunc func(r *reader, n *yaml.Node, hint, format string, args ...any)

// fail reports a mistake at a node. hint says how to correct it.
func (r *reader) fail(n *yaml.Node, hint, format string, args ...any) {
	r.report(n, "", false, hint, format, args...)
}

// failAbsent reports a mistake about a key that is missing in the mapping at n.
func (r *reader) failAbsent(n *yaml.Node, key, hint, format string, args ...any) {
	r.report(n, key, false, hint, format, args...)
}

// failLarge reports a value that is too large for the store or for a program.
func (r *reader) failLarge(n *yaml.Node, hint, format string, args ...any) {
	r.report(n, "", true, hint, format, args...)
}

func (r *reader) report(n *yaml.Node, absent string, large bool, hint, format string, args ...any) {
	if r.c.full() {
		r.c.found++
		return
	}
	e := r.src.blame(n.Line, n.Column, fmt.Sprintf(format, args...), hint)
	e.Path, e.Large = r.src.path(n, absent), large
	r.c.add(e)
}

// mistakes returns the number of mistakes that were found. A caller compares the numbers before and after it reads a part, to
// learn whether that part has mistakes.
func (r *reader) mistakes() int { return r.c.found }

func (r *reader) unknown(key *yaml.Node, what string, known []string) {
	if r.c.full() { // the search for the nearest key would take time, and the result would not be kept
		r.c.found++
		return
	}
	r.fail(key, didYouMean(key.Value, known, "use "+oneOf(known)), "unknown key %s in %s", quote(key.Value), what)
}

// pairs calls do for each key of a mapping. It reports a duplicate key and does not call do for it. It returns false if n is no
// mapping.
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
			hint := "write a name before the colon"
			if key.Kind == yaml.MappingNode && key.Style&yaml.FlowStyle != 0 { // {{ .Name }}: of Helm or Jinja
				hint = "if this file is a template, render it first"
			}
			r.fail(key, hint, "key in %s must be a word", what)
			continue
		}
		if line, ok := lines[key.Value]; ok {
			first := ""
			if line > 0 { // the source is a file
				first = fmt.Sprintf(": first given at line %d", line)
			}
			r.fail(key, "remove one of the two", "duplicate key %s in %s%s", quote(key.Value), what, first)
			continue
		}
		lines[key.Value] = key.Line
		do(key, value)
	}
	return true
}

// items calls do for each element of a list. If single is true, any value that is not a list counts as a list of one.
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

func (r *reader) wrongType(n *yaml.Node, what, want string) {
	hint := "write " + want
	switch {
	case strings.HasPrefix(want, "a mapping") && strings.Contains(r.example, ": {"),
		strings.HasPrefix(want, "a list") && strings.Contains(r.example, ": ["):
		hint += ", such as " + r.example
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode:
		hint = "remove the dash before its keys"
	}
	r.fail(n, hint, "%s must be %s, not %s", what, want, r.kindOf(n))
}

// badName reports an error of job.CheckName. The text after ": use " in that error becomes the hint.
func (r *reader) badName(n *yaml.Node, what string, err error) {
	msg, use, _ := strings.Cut(err.Error(), ": use ")
	r.fail(n, "use "+use, "%s %s", what, msg)
}

// kindOf describes the type of a node in words, with its value. For a request it omits the value, because an answer must not
// repeat secrets.
func (r *reader) kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	what, value := "the text", quote(n.Value)
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		what, value = "the number", abbreviate(n.Value)
	case "!!bool":
		what, value = "the boolean", abbreviate(n.Value)
	case "!!timestamp":
		what, value = "the time", abbreviate(n.Value)
	}
	if r.src.json {
		return "a" + strings.TrimPrefix(what, "the")
	}
	return what + " " + value
}

func abbreviate(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
