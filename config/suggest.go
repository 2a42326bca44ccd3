package config

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// didYouMean returns a hint with the nearest candidate, or "" if none is near.
func didYouMean(word string, candidates []string) string {
	if c := suggest.Nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return ""
}

// oneOf returns the choices as a list for a message.
func oneOf[T ~string](values []T) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
