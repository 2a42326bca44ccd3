package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// maxKeys is how many keys the text of a definition may have. Package yaml compares each key of a mapping with each other one.
const maxKeys = 2000

// specOf reads the definition of one job. It may have the form of a job file with one job.
func specOf(text string) (map[string]exact, error) {
	doc, err := single(version12.ReplaceAllString(text, "${1}1"))
	if n := countKeys(&doc); err == nil && n > maxKeys {
		return nil, fmt.Errorf("this has %d keys: a job has at most %d here", n, maxKeys)
	}
	var rough map[string]any // to bound the size of spec: aliases make a short text large
	if err == nil {
		err = doc.Decode(&rough)
	}
	if room := api.MaxBody; err == nil && !fits(rough, &room) {
		return nil, fmt.Errorf("this is larger than %d bytes", api.MaxBody)
	}
	var spec map[string]exact
	if err == nil {
		err = keyless(&doc)
	}
	if err == nil {
		err = doc.Decode(&spec)
	}
	if err != nil {
		return nil, fmt.Errorf("this is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	jobs, ok := spec["jobs"].value.(map[string]exact)
	if !ok {
		return spec, nil
	}
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		if key != "jobs" && key != "version" { // such as defaults, whose values the job would lack
			return nil, fmt.Errorf("this has %s beside the job: write the keys into the job, or apply the text as a job file", key)
		}
	}
	if len(jobs) != 1 {
		return nil, fmt.Errorf("this has %d jobs: write one job", len(jobs))
	}
	for _, v := range jobs {
		if spec, ok = v.value.(map[string]exact); !ok {
			return nil, errors.New("the job has no keys")
		}
	}
	return spec, nil
}

// version12 matches the directive of YAML 1.2 at the beginning of a text. The library reads YAML 1.2, but knows only that of 1.1.
var version12 = regexp.MustCompile(`\A(\s*(?:#[^\n]*\n\s*)*%YAML[ \t]+1\.)2\b`)

// single returns the document of a text. Other documents must be empty, as the last one behind a closing --- is.
func single(text string) (doc yaml.Node, err error) {
	loader, err := yaml.NewLoader(strings.NewReader(text))
	for err == nil {
		var next yaml.Node
		switch err = loader.Load(&next); {
		case err != nil || len(next.Content) == 0 || next.Content[0].ShortTag() == "!!null":
		case len(doc.Content) > 0:
			return doc, errors.New("it has a second document: write one job")
		default:
			doc = next
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return doc, err
}

// exact is a value of a definition, as a job file has it: 1.10 keeps its zero. A number that JSON lacks, such as 0755, is a text.
type exact struct{ value any }

// UnmarshalYAML reads a node.
func (e *exact) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		var keys map[string]exact
		err := n.Decode(&keys)
		e.value = keys
		return err
	case yaml.SequenceNode:
		var items []exact
		err := n.Decode(&items)
		e.value = items
		return err
	}
	e.value = n.Value
	switch n.ShortTag() {
	case "!!int", "!!float":
		number := strings.TrimPrefix(n.Value, "+")
		if strings.HasPrefix(number, ".") {
			number = "0" + number
		}
		if json.Valid([]byte(number)) {
			e.value = json.RawMessage(number)
		}
	case "!!bool", "!!null": // True and ~ are such values too
		return n.Decode(&e.value)
	}
	return nil
}

// MarshalJSON writes the value.
func (e exact) MarshalJSON() ([]byte, error) { return json.Marshal(e.value) }

// keyless returns an error if a key of a mapping is nothing, as in "~: 1". The decoder would leave such a key out.
func keyless(n *yaml.Node) error {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: a key is missing", child.Line)
		}
		if err := keyless(child); err != nil {
			return err
		}
	}
	return nil
}

// fits takes the size of a value from room, in bytes, and reports whether the room is enough. Aliases make a short text large.
func fits(value any, room *int) bool {
	*room--
	switch v := value.(type) {
	case string:
		*room -= len(v)
	case []any:
		for i := range v {
			if !fits(v[i], room) {
				return false
			}
		}
	case map[string]any:
		for name := range v {
			if !fits(name, room) || !fits(v[name], room) {
				return false
			}
		}
	case map[any]any:
		for name := range v {
			if !fits(name, room) || !fits(v[name], room) {
				return false
			}
		}
	}
	return *room >= 0
}

// countKeys counts the keys of all mappings in a node.
func countKeys(n *yaml.Node) int {
	keys := 0
	if n.Kind == yaml.MappingNode {
		keys = len(n.Content) / 2
	}
	for _, child := range n.Content {
		keys += countKeys(child)
	}
	return keys
}
