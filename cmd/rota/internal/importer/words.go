package importer

import (
	"errors"
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
