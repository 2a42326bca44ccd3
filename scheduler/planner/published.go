package planner

import "maps"

// published is a map that the planner changes and whose snapshots other goroutines may read. The zero value is empty.
type published[V any] struct {
	values   map[string]V
	snapshot map[string]V // nil: values has changed since the last snapshot
}

func (m *published[V]) set(name string, v V) {
	if m.values == nil {
		m.values = make(map[string]V)
	}
	m.values[name], m.snapshot = v, nil
}

func (m *published[V]) remove(name string) {
	if _, ok := m.values[name]; ok {
		delete(m.values, name)
		m.snapshot = nil
	}
}

// current returns the present content; later changes do not affect it.
func (m *published[V]) current() map[string]V {
	if m.snapshot == nil {
		m.snapshot = maps.Clone(m.values)
	}
	return m.snapshot
}
