package importer

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// unitEscape matches one escape sequence in a value of a unit file. In front of other characters, a backslash is literal.
	unitEscape = regexp.MustCompile(`^\\(?:[abfnrtv\\"'s]|x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`)
	// loneSemicolon is a semicolon that separates two commands of systemd, or one inside of quotes.
	loneSemicolon = regexp.MustCompile(`\s;(?:\s|$)`)
	// literalSemicolon is a word that is a semicolon.
	literalSemicolon = regexp.MustCompile(`^\\;(?:\s|$)`)
)

// splitUnitWords splits a value of a unit file into words as systemd does. In contrast to a shell, escape sequences also count
// between single quotes, and unknown ones stay. It expands no variables and no specifiers.
func splitUnitWords(text string) (words []string, err error) {
	var word strings.Builder
	began, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		escape := unitEscape.FindString(text[i:])
		switch {
		case escape != "":
			word.WriteString(unescape(escape[1:]))
			i += len(escape) - 1
			began = true
		case quote == 0 && !began && literalSemicolon.MatchString(text[i:]):
			i++
			word.WriteByte(';')
			began = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, began = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if began {
				words = append(words, word.String())
				word.Reset()
				began = false
			}
		default:
			word.WriteByte(c)
			began = true
		}
	}
	if quote != 0 {
		return nil, errQuotes
	}
	if began {
		words = append(words, word.String())
	}
	return words, nil
}

// unescape returns the text of an escape sequence without its backslash.
func unescape(escape string) string {
	switch escape[0] {
	case 's':
		return " "
	case '\\', '"', '\'':
		return escape
	case 'x':
		n, _ := strconv.ParseUint(escape[1:], 16, 8)
		return string([]byte{byte(n)})
	case 'u', 'U':
		n, _ := strconv.ParseUint(escape[1:], 16, 32)
		return string(rune(n))
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n, _ := strconv.ParseUint(escape, 8, 16)
		return string([]byte{byte(n)})
	}
	return map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}[escape[0]]
}
