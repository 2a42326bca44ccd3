package web

import (
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sequences finds control sequences of terminals: with parameters, such as colors; strings with an end, such as titles and links;
// the choice of a character set; and the rest. The group is the content of a string. A string without an end is text.
var sequences = regexp.MustCompile(
	`\x1b(?:\[[0-?]{0,200}[ -/]{0,16}[@-~]|[\]PX^_]([^\x00-\x1f\x7f]*)(?:\x07|\x1b\\)|[ -/]{1,16}[0-~]|[0-~])?`,
)

// longestString is the number of characters that a string in a sequence may have. A longer one is text, so that the page withholds
// and examines a limited amount while output arrives.
const longestString = 4096

// colors finds the sequences that set colors, and their parameters.
var colors = regexp.MustCompile(`^\x1b\[([0-9;]*)m$`)

// returns finds the ends of lines with a carriage return. A progress bar has one after each of its states.
var returns = regexp.MustCompile(`\r+\n?`)

// ansiHTML converts output with ANSI colors to HTML. It escapes all text, and drops every other control sequence.
func ansiHTML(text []byte) template.HTML {
	var b ansiWriter
	var style ansiStyle
	open := false
	at := 0
	for _, m := range sequences.FindAllSubmatchIndex(text, -1) {
		b.plain(text[at:m[0]])
		at = m[1]
		if m[2] >= 0 && utf8.RuneCount(text[m[2]:m[3]]) > longestString {
			b.plain(text[m[2]:m[3]])
		}
		set := colors.FindSubmatch(text[m[0]:m[1]])
		if set == nil {
			continue
		}
		style.apply(string(set[1]))
		if open {
			b.WriteString("</span>")
		}
		class := style.class()
		if open = class != ""; open {
			b.WriteString(`<span class="` + class + `">`)
		}
	}
	b.plain(text[at:])
	if open {
		b.WriteString("</span>")
	}
	return template.HTML(b.String())
}

// ansiWriter collects HTML.
type ansiWriter struct {
	strings.Builder
	returned bool // the text so far ends with a carriage return, which has ended its line
}

// plain writes text, escaped. It drops control characters, and replaces bytes that are no text.
func (w *ansiWriter) plain(text []byte) {
	clean := strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, strings.ToValidUTF8(string(text), "\ufffd"))
	if clean == "" {
		return
	}
	shown := clean
	if w.returned { // sequences between the characters that end a line do not make two ends of it
		shown = strings.TrimPrefix(strings.TrimLeft(clean, "\r"), "\n")
	}
	w.returned = strings.HasSuffix(clean, "\r")
	w.WriteString(html.EscapeString(returns.ReplaceAllLiteralString(shown, "\n")))
}

// ansiStyle is the style that sequences have set.
type ansiStyle struct {
	bold  bool
	color int // of the 16 colors, plus one; 0: none
}

func (s *ansiStyle) apply(parameters string) {
	list := strings.Split(parameters, ";")
	for i := 0; i < len(list); i++ {
		n, _ := strconv.Atoi(list[i])
		switch {
		case n == 0:
			*s = ansiStyle{}
		case n == 1:
			s.bold = true
		case n == 22:
			s.bold = false
		case n >= 30 && n <= 37:
			s.color = n - 29
		case n >= 90 && n <= 97:
			s.color = n - 81
		case n == 39:
			s.color = 0
		case n == 38 || n == 48: // colors of 256 or of 24 bits: not shown
			if i+1 < len(list) && list[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		}
	}
}

func (s *ansiStyle) class() string {
	var list []string
	if s.bold {
		list = append(list, "a-b")
	}
	if s.color > 0 {
		list = append(list, "a-"+strconv.Itoa(s.color-1))
	}
	return strings.Join(list, " ")
}
