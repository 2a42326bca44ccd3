package config

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that word was probably meant to be, or "".
func Nearest(word string, candidates []string) string {
	const longest = 64 // longer words are no typing errors, and would be dear to compare
	if word == "" || len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean returns a hint, or "" when nothing is near.
func didYouMean(word string, candidates []string) string {
	if c := Nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return ""
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, this := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		this[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			this[j] = min(last[j]+1, this[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				this[j] = min(this[j], before[j-2]+1)
			}
		}
		before, last, this = last, this, before
	}
	return last[len(t)]
}

// oneOf writes a list of choices for a message.
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
