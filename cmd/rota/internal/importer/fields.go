package importer

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// fields reads a mapping of YAML or JSON. It records which keys were read, so that rest can report every other key.
type fields struct {
	t    *translation
	path string // path of the mapping, for reports; empty at the top
	line int
	at   map[string]*yaml.Node
	keys []string // in the order of the file
	read map[string]bool
}

// newFields returns the fields of a node. A node that is no mapping has no keys.
func newFields(t *translation, path string, n *yaml.Node) *fields {
	f := &fields{t: t, path: path, at: map[string]*yaml.Node{}, read: map[string]bool{}}
	if n == nil {
		return f
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	f.line = n.Line
	if n.Kind != yaml.MappingNode {
		return f
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		f.at[key], f.keys = value, append(f.keys, key)
	}
	return f
}

func (f *fields) name(key string) string {
	if f.path == "" {
		return key
	}
	return f.path + "." + key
}

// has reports whether the mapping has a value for a key. null, an empty list and an empty mapping are no values.
func (f *fields) has(key string) bool {
	n := f.at[key]
	return n != nil && n.Tag != "!!null" && (n.Kind == yaml.ScalarNode || len(n.Content) > 0)
}

// text reads a scalar as text; empty if the key has no value.
func (f *fields) text(key string) string {
	f.read[key] = true
	n := f.at[key]
	switch {
	case !f.has(key):
		return ""
	case n.Kind != yaml.ScalarNode:
		f.t.lost(n.Line, "%s is not a text", f.name(key))
		return ""
	}
	return n.Value
}

// number reads a whole number; 0 if the key has no value.
func (f *fields) number(key string) int {
	text := f.text(key)
	if text == "" {
		return 0
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		f.t.lost(f.lineOf(key), "%s: %q is not a whole number", f.name(key), text)
	}
	return v
}

// truth reads a boolean; false if the key has no value. spellings are those of true.
func (f *fields) truth(key string, spellings []string) bool {
	return slices.Contains(spellings, f.text(key))
}

// The spellings of true.
var (
	kubectlTrue = []string{"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"} // YAML 1.1
	dkronTrue   = []string{"true", "True", "TRUE", "1", "t", "T"}                                   // strconv.ParseBool
)

// texts reads a list of scalars. A single scalar counts as a list of one.
func (f *fields) texts(key string) (list []string) {
	f.read[key] = true
	n := f.at[key]
	switch {
	case !f.has(key):
	case n.Kind == yaml.ScalarNode:
		list = []string{n.Value}
	default:
		for _, item := range n.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			list = append(list, item.Value)
		}
	}
	return list
}

// below reads the mapping in the value of a key. It never returns nil.
func (f *fields) below(key string) *fields {
	f.read[key] = true
	return newFields(f.t, f.name(key), f.at[key])
}

// each reads a list of mappings.
func (f *fields) each(key string) (list []*fields) {
	f.read[key] = true
	if n := f.at[key]; n != nil && n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			list = append(list, newFields(f.t, f.name(key), item))
		}
	}
	return list
}

// lineOf returns the line of a key's value. If the key has no value, it returns the line of the mapping.
func (f *fields) lineOf(key string) int {
	if n := f.at[key]; n != nil {
		return n.Line
	}
	return f.line
}

// drop marks keys as read that have no effect in rota and whose loss changes nothing.
func (f *fields) drop(keys ...string) {
	for _, key := range keys {
		f.read[key] = true
	}
}

// lost reports a key that has no translation. instead says what the user can do instead.
func (f *fields) lost(key, instead string) {
	if f.has(key) {
		f.t.lost(f.lineOf(key), "%s: %s", f.name(key), instead)
	}
	f.read[key] = true
}

// lostIf is lost for a boolean that has no effect unless it is true. spellings are those of true.
func (f *fields) lostIf(key string, spellings []string, instead string) {
	if f.truth(key, spellings) {
		f.lost(key, instead)
	}
}

// rest reports every key that was not read.
func (f *fields) rest() {
	for _, key := range f.keys {
		if !f.read[key] && f.has(key) {
			f.t.lost(f.lineOf(key), "%s has no translation", f.name(key))
		}
	}
}
