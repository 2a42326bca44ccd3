package config

import (
	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// Defined is one definition and the place of its name.
type Defined[S any] struct {
	Name string
	File string
	Line int // from 1
	Spec S   // for a job: with the file's defaults and job.Spec.WithDefaults applied
}

type (
	// Definition is one job.
	Definition = Defined[job.Spec]
	// LimitDefinition is one limit.
	LimitDefinition = Defined[job.LimitSpec]
)

// definitions collects the definitions of one kind from all sources, and the places where jobs name them. A job may name a
// definition of a later file.
type definitions[S any] struct {
	kind  string // job, limit or notifier
	empty string // the hint for a definition without a value
	known map[string]Defined[S]
	uses  []use
}

// use is a place where a job names a definition.
type use struct {
	r    *reader
	node *yaml.Node
	job  string
}

func newDefinitions[S any](kind, empty string) definitions[S] {
	return definitions[S]{kind: kind, empty: empty, known: map[string]Defined[S]{}}
}

// declare adds a definition, whose value set adds later. It reports a bad or duplicate name, and a missing value. ok is true if
// the value can be read. what is the name of the definition in messages.
func (d *definitions[S]) declare(r *reader, key, value *yaml.Node) (what string, ok bool) {
	name := key.Value
	what = d.kind + " " + quote(name)
	if err := job.CheckName(name); err != nil {
		r.badName(key, d.kind, err)
	}
	if other, known := d.known[name]; known {
		r.fail(key, "rename or remove one of the two", "duplicate %s: already defined at %s:%d", what, other.File, other.Line)
		return what, false
	}
	d.known[name] = Defined[S]{Name: name, File: r.src.name, Line: key.Line}
	if isNull(value) {
		r.fail(key, d.empty, "%s has no value", what)
		return what, false
	}
	return what, true
}

// set adds the value of a declared definition.
func (d *definitions[S]) set(name string, spec S) {
	one := d.known[name]
	one.Spec = spec
	d.known[name] = one
}

// use records the names that a key of a job has as its value n. n is nil if the job lacks the key. A mapping contains definitions
// and no names, so use ignores it.
func (d *definitions[S]) use(r *reader, n *yaml.Node, job string) {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		d.uses = append(d.uses, use{r, n, job})
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			d.uses = append(d.uses, use{r, item, job})
		}
	}
}

// resolve calls found for each recorded use of a definition, and reports each name that is not defined. It skips a node if
// reported returns true for it. hint returns the hint for a name that is not similar to a defined one.
func (d *definitions[S]) resolve(reported func(n *yaml.Node) bool, hint func(u use) string, found func(u use, spec S)) {
	names := sortedKeys(d.known)
	for _, u := range d.uses {
		if u.node.Kind != yaml.ScalarNode || reported(u.node) {
			continue
		}
		if one, ok := d.known[u.node.Value]; ok {
			found(u, one.Spec)
			continue
		}
		text := hint(u)
		if !u.r.src.json {
			text = didYouMean(u.node.Value, names, text)
		}
		u.r.fail(u.node, text, "%s %s is not defined", d.kind, quote(u.node.Value))
	}
}
