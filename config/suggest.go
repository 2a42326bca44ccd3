package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// didYouMean returns a hint with the nearest candidate; otherwise if none is near.
func didYouMean(word string, candidates []string, otherwise string) string {
	if c := suggest.Nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return otherwise
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
	return slices.Sorted(maps.Keys(m))
}
