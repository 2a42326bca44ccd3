package importer

import (
	"regexp"
	"strconv"
	"unicode"
	"unicode/utf8"
)

var (
	// unitEscape matches one escape sequence in a value of a unit file. In front of other characters, a backslash is literal.
	unitEscape = regexp.MustCompile(`^\\(?:[abfnrtv\\"'s]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`)
	// loneSemicolon is a semicolon that separates two commands of systemd, or one inside of quotes.
	loneSemicolon = regexp.MustCompile(`\s;(?:\s|$)`)
	// literalSemicolon is a word that is a semicolon.
	literalSemicolon = regexp.MustCompile(`^\\;(?:\s|$)`)
)

// splitUnitWords splits a value of a unit file into words as systemd does. In contrast to a shell, escape sequences also count
// between single quotes, and unknown ones stay. It expands no variables and no specifiers.
func splitUnitWords(text string) ([]string, error) {
	return split(text, func(rest string, quote byte, began bool) (string, int) {
		if quote == 0 && !began && literalSemicolon.MatchString(rest) {
			return ";", 2
		}
		return unescape(rest)
	})
}

// unescape returns the character that the escape sequence at the start of a text stands for, and the length of the sequence. The
// length is zero if the text begins with no sequence, or with one for which there is no character. systemd keeps such text, too.
func unescape(text string) (plain string, length int) {
	escape := unitEscape.FindString(text)
	if escape == "" {
		return "", 0
	}
	switch c := escape[1]; c {
	case 's':
		plain = " "
	case '\\', '"', '\'':
		plain = escape[1:]
	case 'x':
		plain = oneByte(escape[2:], 16)
	case '0', '1', '2', '3':
		plain = oneByte(escape[1:], 8)
	case 'u', 'U':
		if n, _ := strconv.ParseInt(escape[2:], 16, 64); n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
			plain = string(rune(n))
		}
	default:
		plain = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}[c]
	}
	if plain == "" || plain == "\x00" {
		return "", 0
	}
	return plain, len(escape)
}

// oneByte returns the byte with a number.
func oneByte(number string, base int) string {
	n, _ := strconv.ParseUint(number, base, 8) // the pattern of escape sequences matches no larger number
	return string([]byte{byte(n)})
}
