package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// object is a JSON Schema, or a part of one.
type object map[string]any

// textUpTo is the kind of a text of at most limit bytes. The text may be empty.
func textUpTo(limit int) kind[string] {
	return kind[string]{
		name: "text", limits: fmt.Sprintf("at most %d bytes", limit), schema: object{"type": "string", "maxLength": limit},
		read: func(r *reader, n *yaml.Node, what string) string { return r.text(n, what, limit) },
	}
}

// word is the kind of a text of at least one character and at most limit bytes.
func word(limit int) kind[string] {
	return kind[string]{
		name: "text", schema: object{"type": "string", "minLength": 1},
		read: func(r *reader, n *yaml.Node, what string) string { return r.required(n, what, limit) },
	}
}

// argument is the kind of a word that rota passes to a program.
func argument(limit int, schema object, l layout) kind[string] {
	return kind[string]{
		name: "text", schema: schema, layout: l,
		read: func(r *reader, n *yaml.Node, what string) string {
			return r.argument(n, what, r.required(n, what, limit))
		},
	}
}

// integer is the kind of a whole number.
func integer(may job.Range[int]) kind[int] {
	return kind[int]{
		name: "whole number", limits: fmt.Sprintf("%d to %d", may.Low, may.High),
		schema: object{"type": "integer", "minimum": may.Low, "maximum": may.High},
		read:   func(r *reader, n *yaml.Node, what string) int { return r.number(n, what, may) },
	}
}

// span is the kind of a duration.
func span(may job.Range[job.Duration]) kind[job.Duration] {
	limits := fmt.Sprintf("%v to %v", may.Low, may.High)
	if may.Low == 1 {
		limits = fmt.Sprintf("more than 0s, up to %v", may.High)
	}
	return kind[job.Duration]{
		name: "duration", limits: limits, schema: ref("duration"),
		read: func(r *reader, n *yaml.Node, what string) job.Duration { return r.duration(n, what, may) },
	}
}

// choiceOf is the kind of a choice from the words in all.
func choiceOf[T ~string](all []T) kind[T] {
	return kind[T]{
		name: "word", limits: oneOf(all), schema: object{"enum": all},
		read: func(r *reader, n *yaml.Node, what string) T { return choice(r, n, what, all) },
	}
}

// asText is a kind like k whose values are plain strings.
func asText[T ~string](k kind[T]) kind[string] {
	return kind[string]{
		name: k.name, limits: k.limits, schema: k.schema,
		read: func(r *reader, n *yaml.Node, what string) string { return string(k.read(r, n, what)) },
	}
}

// listOf is the kind of a list of values. A single value counts as a list of one.
func listOf[V any](item kind[V], l layout) kind[[]V] {
	return kind[[]V]{
		name: item.name + " or list", limits: item.limits, layout: l,
		schema: oneOrMore(item.schema),
		read: func(r *reader, n *yaml.Node, what string) (list []V) {
			r.items(n, what, true, func(_ int, n *yaml.Node) { list = append(list, item.read(r, n, what)) })
			return list
		},
	}
}

func oneOrMore(item object) object {
	return object{"anyOf": []object{item, {"type": "array", "items": item, "minItems": 1}}}
}

// uniqueInOrder is a kind like list. It keeps each value once, in the order of all.
func uniqueInOrder[V comparable](list kind[[]V], all []V) kind[[]V] {
	read := list.read
	list.read = func(r *reader, n *yaml.Node, what string) (kept []V) {
		given := read(r, n, what)
		for _, v := range all {
			if slices.Contains(given, v) {
				kept = append(kept, v)
			}
		}
		return kept
	}
	return list
}

// instant is the kind of a time in RFC 3339.
var instant = kind[time.Time]{
	name: "time", limits: "RFC 3339", schema: object{"type": "string", "pattern": timePattern},
	read: func(r *reader, n *yaml.Node, what string) time.Time { return r.instant(n, what) },
}

// bound is the kind of an optional instant.
var bound = kind[*time.Time]{
	name: instant.name, limits: instant.limits, schema: instant.schema,
	read: func(r *reader, n *yaml.Node, what string) *time.Time {
		t := r.instant(n, what)
		if t.IsZero() {
			return nil
		}
		return &t
	},
}

// rate is the kind of a number per second, minute or hour.
var rate = kind[job.Rate]{
	name: "rate", limits: fmt.Sprintf("1 to %d, per s, m or h", job.MaxRate), schema: ref("rate"),
	read: func(r *reader, n *yaml.Node, what string) job.Rate { return r.rate(n, what) },
}

// parsed is the kind of a value that the function parse reads from a text. hint explains the correct form if parse refuses a
// text.
func parsed[V cmp.Ordered](
	name, short string, may job.Range[V], schema object, parse func(string) (V, error), hint func(text string) string,
) kind[V] {
	return kind[V]{
		name: name, limits: fmt.Sprintf("%v to %v", may.Low, may.High), schema: schema,
		read: func(r *reader, n *yaml.Node, what string) (none V) {
			text, ok := r.scalar(n, what, "a "+name)
			if !ok {
				return none
			}
			v, err := parse(text)
			switch {
			case err != nil:
				r.fail(n, hint(text), "%s %s is not a %s", what, quote(text), name)
			case !may.Holds(v):
				r.fail(n, within("a "+short, may), "%s %s is not between %v and %v", what, quote(text), may.Low, may.High)
			default:
				return v
			}
			return none
		},
	}
}

// words is the kind of a mapping of names to texts. The function read reads it.
func words(name string, l layout, read func(r *reader, n *yaml.Node, what string) map[string]string) kind[map[string]string] {
	return kind[map[string]string]{
		name: name, limits: fmt.Sprintf("at most %d entries", maxEntries), schema: ref("words"), layout: l, read: read,
	}
}

// data is the kind of any value. The value is kept as JSON. fail reports a value that is too large.
func data(fail failFunc) kind[json.RawMessage] {
	return kind[json.RawMessage]{
		name: "any value", limits: fmt.Sprintf("at most %d bytes as JSON", maxPayload), schema: object{},
		read: func(r *reader, n *yaml.Node, what string) json.RawMessage { return r.data(n, what, fail) },
	}
}

// checker reports mistakes that involve several keys of a mapping. sound is true if each key on its own is correct.
type checker[V any] func(r *reader, n *yaml.Node, v *V, sound bool)

// mappingOf is the kind of a mapping with the keys of a table. An empty mapping means the same as none. check may be nil. more
// has additional keys of the schema.
func mappingOf[V any](t table[V], l layout, more object, check checker[V]) kind[*V] {
	k := ruleOf(t, l, more, check)
	read := k.read
	k.read = func(r *reader, n *yaml.Node, what string) *V {
		if v := read(r, n, what); v != nil && len(n.Content) > 0 {
			return v
		}
		return nil
	}
	return k
}

// ruleOf does the same as mappingOf, but an empty mapping is a value as well.
func ruleOf[V any](t table[V], l layout, more object, check checker[V]) kind[*V] {
	return kind[*V]{
		name: "mapping", layout: l, schema: mappingSchema(t.keys(), more), keys: t.keys(),
		read: func(r *reader, n *yaml.Node, what string) *V {
			var v V
			before := r.mistakes()
			if !readKeys(r, n, what, what+".", t, nil, &v) {
				return nil
			}
			if check != nil {
				check(r, n, &v, r.mistakes() == before)
			}
			return &v
		},
	}
}
