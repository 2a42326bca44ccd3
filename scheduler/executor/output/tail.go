package output

import (
	"strings"
	"unicode/utf8"
)

// tail keeps the last size bytes that were added.
type tail struct {
	size int
	buf  []byte // at most 2·size bytes, so that each byte is moved about once
}

func (t *tail) add(p []byte) {
	if len(p) >= t.size {
		t.buf = append(t.buf[:0], p[len(p)-t.size:]...)
		return
	}
	if len(t.buf)+len(p) > 2*t.size {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.size:]...)
	}
	t.buf = append(t.buf, p...)
}

// text returns the end of the added bytes, made printable, with the notes behind it. It has at most size bytes.
func (t *tail) text(notes []string) string {
	var note strings.Builder
	for _, n := range notes {
		note.WriteString("\n" + n + "\n")
	}
	s := printable(t.buf[max(0, len(t.buf)-t.size):]) + note.String()
	if over := len(s) - t.size; over > 0 {
		s = s[over:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return s
}

// printable replaces invalid UTF-8, and control characters except those for layout and color.
func printable(b []byte) string {
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:] // the rest of a character that was cut
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r == '\x1b':
			return r
		case r < ' ', r == 0x7f:
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
}
