package main

import (
	"io"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/cmd/rota/internal/top"
)

// safeWriter writes the output of a job to a terminal. It passes text, tabs, carriage returns, and the sequences that set colors.
// It drops every other control sequence. Such a sequence could write to the user's clipboard, change the title of the window, or
// hide text. It also drops the characters that change the direction of text. A sequence may be split over several writes.
type safeWriter struct {
	to       io.Writer
	state    escapeState
	second   byte   // the second byte of a character that begins with 0xE2
	sequence []byte // bytes of a control sequence that has not ended; nil if the sequence cannot set a color
}

// escapeState is the kind of sequence that contains the next byte.
type escapeState int

const (
	inText        escapeState = iota
	afterEscape               // ESC was the last byte.
	inControl                 // ESC [ …, which ends with a letter.
	inString                  // ESC ] … and similar ones, which end with BEL or ESC \.
	stringEscape              // ESC within inString.
	afterC2                   // the first byte (0xC2) of U+0080 to U+00BF, of which U+0080 to U+009F are control characters
	afterE2                   // the first byte (0xE2) of U+2000 to U+2FFF
	afterE2Second             // the first two bytes of U+2000 to U+207F
)

const (
	bell        = 0x07
	escape      = 0x1b
	maxSequence = 64 // bytes of a sequence that sets colors
)

// Write returns len(b), or the error of the underlying writer.
func (w *safeWriter) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		out = w.next(out, c)
	}
	if len(out) == 0 {
		return len(b), nil
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// next handles the byte c. It appends to out the bytes that may reach the terminal, and returns out.
func (w *safeWriter) next(out []byte, c byte) []byte {
	switch w.state {
	case afterEscape:
		return w.begin(out, c)
	case inControl:
		return w.control(out, c)
	case inString:
		switch c {
		case bell:
			w.state = inText
		case escape:
			w.state = stringEscape
		case '\n': // a string sequence without an end must not hide the lines after it
			w.state = inText
			return append(out, c)
		}
		return out
	case stringEscape:
		if c == '\\' {
			w.state = inText
			return out
		}
		return w.begin(out, c)
	case afterC2:
		w.state = inText
		if c >= 0x80 && c < 0xa0 {
			return out
		}
		return w.text(append(out, 0xc2), c)
	case afterE2:
		if c == 0x80 || c == 0x81 {
			w.state, w.second = afterE2Second, c
			return out
		}
		w.state = inText
		return w.text(append(out, 0xe2), c)
	case afterE2Second:
		w.state = inText
		if r, _ := utf8.DecodeRune([]byte{0xe2, w.second, c}); top.Disturbs(r) {
			return out
		}
		return w.text(append(out, 0xe2, w.second), c)
	}
	return w.text(out, c)
}

// text handles a byte outside of any sequence.
func (w *safeWriter) text(out []byte, c byte) []byte {
	switch {
	case c == escape:
		w.state = afterEscape
	case c == 0xc2:
		w.state = afterC2
	case c == 0xe2:
		w.state = afterE2
	case c >= 0x20 && c != 0x7f, c == '\n', c == '\t', c == '\r':
		return append(out, c)
	}
	return out
}

// begin handles the byte after ESC.
func (w *safeWriter) begin(out []byte, c byte) []byte {
	switch c {
	case '[':
		w.state, w.sequence = inControl, append(w.sequence[:0], escape, '[')
	case ']', 'P', 'X', '^', '_':
		w.state = inString
	case escape:
		w.state = afterEscape
	case '\n':
		w.state = inText
		return append(out, c)
	default:
		if c < 0x20 || c > 0x2f { // 0x20 to 0x2f are followed by one more byte
			w.state = inText
		}
	}
	return out
}

// control handles a byte of ESC [ …. At the end of the sequence, it passes the sequence on if it sets colors.
func (w *safeWriter) control(out []byte, c byte) []byte {
	switch {
	case c == escape:
		w.state = afterEscape
	case c == '\n':
		w.state = inText
		return append(out, c)
	case c == 'm' && w.sequence != nil:
		w.state = inText
		return append(append(out, w.sequence...), c)
	case c >= 0x40 && c <= 0x7e:
		w.state = inText
	case c >= '0' && c <= ';' && len(w.sequence) < maxSequence:
		if w.sequence != nil {
			w.sequence = append(w.sequence, c)
		}
	default:
		w.sequence = nil // this sequence cannot set colors
	}
	return out
}
