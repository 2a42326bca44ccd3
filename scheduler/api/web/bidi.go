package web

import (
	"bytes"
	"fmt"
	"regexp"
)

// turns finds the characters that change the direction of the text behind them. With them, a name or the output of a job could show
// another text than it has.
var turns = regexp.MustCompile(`[\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// markup finds what showTurns leaves as it is: tags, whose values a form sends back, and the content of text areas. Templates
// escape < and > in values.
var markup = regexp.MustCompile(`(?s)<textarea[^>]*>[^<]*|<[^>]*>`)

// showTurns writes these characters as escapes, such as \u202e, wherever a page shows text.
func showTurns(page []byte) []byte {
	if !turns.Match(page) {
		return page
	}
	var b bytes.Buffer
	escape := func(c []byte) []byte { return fmt.Appendf(nil, `\u%x`, []rune(string(c))[0]) }
	at := 0
	for _, m := range markup.FindAllIndex(page, -1) {
		b.Write(turns.ReplaceAllFunc(page[at:m[0]], escape))
		b.Write(page[m[0]:m[1]])
		at = m[1]
	}
	b.Write(turns.ReplaceAllFunc(page[at:], escape))
	return b.Bytes()
}
