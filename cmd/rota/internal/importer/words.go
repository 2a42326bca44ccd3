package importer

import (
	"errors"
	"regexp"
	"strings"
)

var errQuotes = errors.New("a quote does not end")

// splitWords splits a command into words as a shell does. It expands nothing.
func splitWords(text string) ([]string, error) {
	return split(text, func(rest string, quote byte, _ bool) (string, int) {
		if rest[0] != '\\' || quote == '\'' {
			return "", 0
		}
		return rest[1:min(2, len(rest))], 2
	})
}

// split splits a text into words, which may be in quotes. escape returns what the escape sequence at the start of rest stands for,
// and the length of the sequence; 0 if there is none. quote is the open quote, or 0; began says that rest continues a word.
func split(text string, escape func(rest string, quote byte, began bool) (plain string, length int)) (words []string, err error) {
	var word strings.Builder
	began, quote, i := false, byte(0), 0
	for i < len(text) {
		c := text[i]
		plain, length := escape(text[i:], quote, began)
		i += max(1, length)
		switch {
		case length > 0:
			word.WriteString(plain)
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
	if quote != 0 || i > len(text) { // the end is within an escape sequence
		return nil, errQuotes
	}
	if began {
		words = append(words, word.String())
	}
	return words, nil
}

var (
	wholeVariable = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
	variable      = regexp.MustCompile(`\$\$|\$\{[A-Za-z_][A-Za-z0-9_]*\}|["\\$` + "`]")
)

// variableLine joins the words of a command of systemd for a shell, which fills in the variables as systemd does. A word $NAME
// becomes as many words as its value has. ${NAME} stays inside its word, and $$ is a dollar sign. All other characters are literal.
func variableLine(words []string) string {
	line := make([]string, len(words))
	for i, word := range words {
		switch {
		case wholeVariable.MatchString(word):
			line[i] = word
		case strings.Contains(word, "$"):
			line[i] = `"` + variable.ReplaceAllStringFunc(word, func(part string) string {
				if strings.HasPrefix(part, "${") {
					return part
				}
				return `\` + part[:1]
			}) + `"`
		default:
			line[i] = shellLine([]string{word})
		}
	}
	return strings.Join(line, " ")
}
