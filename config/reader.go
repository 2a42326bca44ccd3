package config

import (
	"fmt"
	"strings"

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
	if hint == "" {
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
			r.fail(key, "write a name before the colon", "key in %s must be a word", what)
			continue
		}
		if line, ok := lines[key.Value]; ok {
			first := ""
			if line > 0 { // in a file
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

func (r *reader) wrongType(n *yaml.Node, what, want string) {
	r.fail(n, "write "+want, "%s must be %s, not %s", what, want, kindOf(n))
}

// badName reports what job.CheckName says of a name; what it says to use is the hint.
func (r *reader) badName(n *yaml.Node, what string, err error) {
	msg, use, _ := strings.Cut(err.Error(), ": use ")
	r.fail(n, "use "+use, "%s %s", what, msg)
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
