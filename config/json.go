package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// data returns a tree as compact JSON. Its keys are in the order of the tree. Numbers keep their digits: 1 does not become 1.0.
// fail reports a value that is too large.
func (r *reader) data(n *yaml.Node, what string, fail failFunc) json.RawMessage {
	before := r.mistakes()
	text := r.appendJSON(nil, n, what)
	if r.mistakes() != before {
		return nil
	}
	if len(text) > maxPayload {
		fail(r, n, "keep large data elsewhere and name the place",
			"%s has %d bytes as JSON, at most %d are allowed", what, len(text), maxPayload)
		return nil
	}
	return text
}

func (r *reader) appendJSON(b []byte, n *yaml.Node, what string) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		start := len(b)
		r.pairs(n, what, func(key, value *yaml.Node) {
			if len(b) > start {
				b = append(b, ',')
			}
			b = appendString(b, key.Value)
			b = append(b, ':')
			b = r.appendJSON(b, value, what)
		})
		return append(b, '}')
	case yaml.SequenceNode:
		r.plainTag(n, what)
		b = append(b, '[')
		for i, child := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = r.appendJSON(b, child, what)
		}
		return append(b, ']')
	}
	if !r.plainTag(n, what) {
		return append(b, "null"...)
	}
	switch n.Tag {
	case "!!null":
		return append(b, "null"...)
	case "!!bool", "!!int", "!!float":
		text, err := literal(n)
		if err != nil {
			r.fail(n, "put it in quotes", "%s: %v", what, err)
		}
		return append(b, text...)
	}
	return appendString(b, n.Value)
}

// zeroFirst matches integers that YAML 1.1 reads as octal and YAML 1.2 as decimal. Most are meant as a text, such as a postal code.
var zeroFirst = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// literal returns a YAML number or boolean as JSON.
func literal(n *yaml.Node) (string, error) {
	switch {
	case n.Tag != "!!bool" && json.Valid([]byte(n.Value)):
		return n.Value, nil
	case zeroFirst.MatchString(n.Value):
		return "", fmt.Errorf("programs differ on the number %s, because it begins with a zero", n.Value)
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return "", fmt.Errorf("%s is not what its tag says", quote(n.Value))
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", fmt.Errorf("JSON has no number for %s", n.Value)
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", fmt.Errorf("%s is not what its tag says", quote(n.Value))
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // the encoding of a string cannot fail
		return append(b, `""`...)
	}
	return append(b, text...)
}
