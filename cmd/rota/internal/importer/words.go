package importer

import (
	"errors"
	"regexp"
	"strings"
)

var errQuotes = errors.New("a quote does not end")

// splitWords splits a command into words as a shell does. It expands nothing.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	began, quote := false, rune(0)
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, began = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, began = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if began {
				words = append(words, word.String())
				word.Reset()
				began = false
			}
		default:
			word.WriteRune(c)
			began = true
		}
	}
	if quote != 0 || escaped {
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
