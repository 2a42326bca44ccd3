package suggest

import "strings"

// Nearest returns the candidate that is closest to word, or "" if none is close. It ignores the case of letters.
func Nearest(word string, candidates []string) string {
	const longest = 64 // a longer word is hardly a typing error, and the comparison would be slow
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

// distance returns how many letters must be inserted, deleted, replaced or swapped with their neighbour to change a into b.
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
