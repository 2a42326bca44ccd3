package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Key describes one key of a job file. The readers, the JSON Schema, the reference and `rota config schema` all use this
// description.
type Key struct {
	Name    string
	Doc     string // what the key does.
	Type    string // type in words, such as duration.
	Default string // as YAML; empty for none.
	Range   string // the values that are allowed; empty for any value of the type.
	Example string // as YAML on one line.
	Zero    string // meaning of zero or of a missing key; empty if Default says it.
	Keys    []Key  // the keys of a mapping; nil for other types.

	required bool     // a mapping without this key is refused.
	perJob   bool     // defaults may not have this key.
	ofRoots  bool     // a step must not have this key: the jobs without parents decide about the slots of a workflow.
	aliases  []string // words of other schedulers for the key
	layout   layout   // form of the value in a written job file.
	schema   object   // JSON Schema without description and default.
	request  object   // JSON Schema of the key in a request to the API; nil: the same as schema.
	standard any      // the default as a Go value; nil for none
}

// row is a Key with the functions that read its value into a T, and get it from a T.
type row[T any] struct {
	Key
	read  func(r *reader, n *yaml.Node, what string, to *T)
	value func(of *T) any
	unset func(of *T) // sets the value to zero
}

// table lists the keys of a mapping in the order of a written file.
type table[T any] []row[T]

// kind is a type of value. It has the function that reads such a value, and descriptions for the schema and for people.
type kind[V any] struct {
	name    string // Key.Type.
	limits  string // Key.Range.
	schema  object
	request object // Key.request.
	layout  layout
	keys    []Key
	read    func(r *reader, n *yaml.Node, what string) V
}

// option changes a Key when its row is made.
type option func(*Key)

// key returns the row of a key of kind k. at returns a pointer to the field that holds the value.
func key[T, V any](name string, k kind[V], at func(*T) *V, example, doc string, options ...option) row[T] {
	f := row[T]{
		Key: Key{
			Name: name, Doc: doc, Example: example, Type: k.name, Range: k.limits, Keys: k.keys,
			layout: k.layout, schema: k.schema, request: k.request,
		},
		read:  func(r *reader, n *yaml.Node, what string, to *T) { *at(to) = k.read(r, n, what) },
		value: func(of *T) any { return *at(of) },
		unset: func(of *T) { *at(of) = *new(V) },
	}
	for _, o := range options {
		o(&f.Key)
	}
	return f
}

// zero sets the text that explains zero or a missing key.
func zero(text string) option { return func(k *Key) { k.Zero = text } }

// required marks a key that must not be missing in its mapping.
func required(k *Key) { k.required = true }

// perJob marks a key that defaults must not have, because its value belongs to one job.
func perJob(k *Key) { k.perJob = true }

// ofRoots marks a key that steps must not have.
func ofRoots(k *Key) { k.ofRoots = true }

// ranged says which values are allowed, if a check other than that of the kind decides it.
func ranged(format string, args ...any) option {
	return func(k *Key) { k.Range = fmt.Sprintf(format, args...) }
}

// alias says how other schedulers call the key, for hints.
func alias(words ...string) option { return func(k *Key) { k.aliases = words } }

// tableOf returns a table of rows. full has the defaults of the keys. A zero value in full means that a key has no default.
func tableOf[T any](full T, rows ...row[T]) table[T] {
	for i := range rows {
		v := reflect.ValueOf(rows[i].value(&full))
		if v.IsZero() || v.Kind() == reflect.Pointer {
			continue
		}
		rows[i].standard = v.Interface()
		rows[i].Default = asYAML(rows[i].standard)
	}
	return rows
}

// asYAML writes a scalar or a list of scalars on one line.
func asYAML(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // the encoding of the defaults in this package cannot fail
		return ""
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(text), `"`, ""), ",", ", ")
}

// names lists the names of the keys.
func (t table[T]) names() []string { return keyNames(t.keys()) }

// unset sets the value of a key to zero.
func (t table[T]) unset(name string, of *T) {
	for i := range t {
		if t[i].Name == name {
			t[i].unset(of)
		}
	}
}

func (t table[T]) has(name string) bool {
	return slices.ContainsFunc(t, func(f row[T]) bool { return f.Name == name })
}

// keys returns the descriptions of all keys, without their functions.
func (t table[T]) keys() []Key {
	list := make([]Key, len(t))
	for i := range t {
		list[i] = t[i].Key
	}
	return list
}

func keyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	return names
}

// readKeys reads a mapping into to. what names the mapping in messages. prefix stands before the names of its keys in messages.
// unknown reports a key that is not in the table; if it is nil, readKeys writes the usual message.
func readKeys[T any](r *reader, n *yaml.Node, what, prefix string, t table[T], unknown func(key *yaml.Node), to *T) bool {
	ok := r.pairs(n, what, func(key, value *yaml.Node) {
		for i := range t {
			if t[i].Name != key.Value {
				continue
			}
			switch {
			case !isNull(value):
				outer := r.example
				r.example = key.Value + ": " + t[i].Example
				t[i].read(r, value, prefix+key.Value, to)
				r.example = outer
			case !r.src.json:
				r.fail(key, "give it one or remove the key", "%s has no value", prefix+key.Value)
			}
			return
		}
		if unknown != nil {
			unknown(key)
			return
		}
		r.unknown(key, what, t.names())
	})
	if ok && r.src.json {
		removeNulls(n)
	}
	return ok
}

// removeNulls removes the keys of a JSON object whose value is null, because null means that no value is given.
func removeNulls(n *yaml.Node) {
	kept := n.Content[:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isNull(n.Content[i+1]) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}
