package web

import (
	"bytes"
	"html"
	"html/template"
	"strconv"
	"strings"
)

// ansiHTML converts output with ANSI colors to HTML. It escapes all text, and drops every other control sequence.
func ansiHTML(text []byte) template.HTML {
	var b strings.Builder
	var style ansiStyle
	open := false
	for len(text) > 0 {
		i := bytes.IndexByte(text, 0x1b)
		if i < 0 {
			i = len(text)
		}
		b.WriteString(plainHTML(text[:i]))
		text = text[i:]
		if len(text) == 0 {
			break
		}
		sequence, rest := cutSequence(text)
		text = rest
		if !strings.HasSuffix(sequence, "m") || !strings.HasPrefix(sequence, "[") {
			continue
		}
		style.apply(sequence[1 : len(sequence)-1])
		if open {
			b.WriteString("</span>")
		}
		class := style.class()
		if open = class != ""; open {
			b.WriteString(`<span class="` + class + `">`)
		}
	}
	if open {
		b.WriteString("</span>")
	}
	return template.HTML(b.String())
}

// plainHTML escapes text, and replaces bytes that are no text.
func plainHTML(text []byte) string {
	clean := strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, strings.ToValidUTF8(string(text), "\ufffd"))
	return html.EscapeString(clean)
}

// cutSequence cuts an escape sequence, which begins with ESC, off the text. It returns it without ESC.
func cutSequence(text []byte) (sequence string, rest []byte) {
	text = text[1:]
	if len(text) == 0 || text[0] != '[' {
		return "", text[min(1, len(text)):]
	}
	for i, c := range text[1:] {
		if c >= 0x40 && c <= 0x7e {
			return string(text[:i+2]), text[i+2:]
		}
		if c < 0x20 || i > 32 {
			return "", text[i+1:]
		}
	}
	return "", nil
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
