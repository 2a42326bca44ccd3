package history

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
)

// svg is a drawing under construction.
type svg struct{ body bytes.Buffer }

// raw adds an element. Escape text that people may have written.
func (s *svg) raw(format string, args ...any) {
	fmt.Fprintf(&s.body, format+"\n", args...)
}

// rect adds a rectangle unless it is empty. The note shows when a reader points at it.
func (s *svg) rect(x float64, y int, width, height float64, fill, note string) {
	if note != "" {
		note = "<title>" + escape(note) + "</title>"
	}
	s.raw(`<rect x="%.1f" y="%d" width="%.1f" height="%.1f" fill="%s">%s</rect>`, x, y, width, height, fill, note)
}

func (s *svg) text(x float64, y int, fill, style, text string) {
	s.raw(`<text x="%.1f" y="%d" fill="%s" style="%s">%s</text>`, x, y, fill, style, escape(text))
}

func (s *svg) write(w io.Writer, width, height int) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
%s</svg>
`, width, height, width, height, s.body.Bytes())
	return err
}

func escape(text string) string { return html.EscapeString(strings.ToValidUTF8(text, "?")) }

// wide estimates the width of a text in pixels.
func wide(text string) float64 { return float64(len(text))*7.2 + 8 }

// short cuts a text to at most n letters.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
