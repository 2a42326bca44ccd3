package top

import (
	"strings"
	"unicode"
)

// clean replaces the characters that would disturb the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if Disturbs(r) {
			return ' '
		}
		return r
	}, text)
}

// Disturbs reports whether r does more on a terminal than appear: it is a control character, or changes the direction of the
// characters behind it.
func Disturbs(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
