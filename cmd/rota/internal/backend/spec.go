package backend

import (
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkSpec holds a definition that came as JSON to what a job file has to obey: it is written as one and read. What is
// returned is what was read, so that the store holds nothing that no file could say. limits are those that
// there are, as far as it may name them.
func checkSpec(name string, spec job.Spec, limits map[string]job.LimitSpec) (job.Spec, error) {
	if size := new(spec.WithDefaults()).Size(); size > job.MaxSpec {
		return spec, fmt.Errorf("job %s has %d bytes as JSON, at most %d are allowed: %w", name, size, job.MaxSpec, job.ErrTooLarge)
	}
	text, err := config.MarshalSet(map[string]job.Spec{name: spec}, limits)
	if err != nil {
		return spec, &api.Invalid{Errors: []api.FieldError{{Field: "payload", Message: err.Error()}}}
	}
	set, err := config.ParseJobs("request", text)
	var mistakes config.Errors
	switch {
	case err == nil:
		return set.Jobs[name].Spec, nil
	case !errors.As(err, &mistakes):
		return spec, err
	}
	fields := places(text, name)
	invalid := &api.Invalid{}
	for _, m := range mistakes {
		message := m.Msg
		if m.Hint != "" {
			message += " (" + m.Hint + ")"
		}
		invalid.Errors = append(invalid.Errors, api.FieldError{Field: fields.at(m.Line, m.Col, &spec), Message: message})
	}
	return spec, invalid
}

// place is where a field of a job stands in a file.
type place struct {
	line, col int
	field     string
}

// fieldMap is the places of a job's fields, from the top of the file.
type fieldMap []place

// places finds the fields of the only job of a file.
func places(text []byte, name string) fieldMap {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil // the mistakes are told without fields
	}
	var found fieldMap
	found.walk(child(child(root.Content[0], "jobs"), name), "")
	return found
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func (m *fieldMap) walk(n *yaml.Node, prefix string) {
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			field := prefix + key.Value
			*m = append(*m, place{key.Line, key.Column, field}, place{value.Line, value.Column, field})
			m.walk(value, field+".")
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			field := prefix[:len(prefix)-1] + "[" + strconv.Itoa(i) + "]"
			*m = append(*m, place{item.Line, item.Column, field})
			m.walk(item, field+".")
		}
	}
}

// at is the field that a mistake at a position is about. Before all fields stands the job itself: what it lacks is
// something to do, or else a slot to do it at.
func (m fieldMap) at(line, col int, spec *job.Spec) string {
	field := "command"
	if spec.Kind() != "" {
		field = "schedule"
	}
	for _, p := range m {
		if p.line < line || p.line == line && p.col <= col {
			field = p.field
		}
	}
	return field
}
