package executor

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// minSecret is the length from which a value is hidden wherever it stands. A shorter one is hidden where it is a word:
	// hiding every "1" would make the output unreadable and tell more than it hides.
	minSecret = 4
	// minSecretLine is the length from which single lines of a value are hidden too, since programs print a key file
	// line by line.
	minSecretLine = 8
	mask          = "***"
)

// Redactor is a writer that passes on what it is given, with every secret replaced by ***, also one that is split
// across writes. Bytes that may be the beginning of a secret wait for the next Write or for Flush.
//
// It knows values as they are: what a program encodes, splits or abbreviates gets through.
type Redactor struct {
	secrets [][]byte  // longest first
	first   [256]bool // bytes that a secret begins with

	mu   sync.Mutex
	w    io.Writer
	held []byte // seen and not yet passed on
	prev byte   // before that; 0: nothing, or a secret
}

// NewRedactor returns a redactor that hides the secrets from w: those of less than four bytes only as whole words, which
// no letter or digit stands next to.
func NewRedactor(w io.Writer, secrets []string) *Redactor {
	r := &Redactor{w: w}
	hide := func(s string, atLeast int) {
		if len(s) >= atLeast {
			r.secrets = append(r.secrets, []byte(s))
			r.first[s[0]] = true
		}
	}
	for _, s := range secrets {
		hide(s, 1)
		if strings.ContainsRune(s, '\n') {
			for line := range strings.Lines(s) {
				hide(strings.TrimSpace(line), minSecretLine)
			}
		}
	}
	slices.SortFunc(r.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// Write passes p on. It always takes all of p: errors of the underlying writer are not the job's.
func (r *Redactor) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.secrets) == 0 {
		r.w.Write(p)
		return len(p), nil
	}
	data := p
	if len(r.held) > 0 {
		data = append(r.held, p...)
	}
	clean, rest, prev := r.redact(data, r.prev, false)
	r.w.Write(clean)
	r.held, r.prev = bytes.Clone(rest), prev
	return len(p), nil
}

// Flush passes on what was held back. Call it when no more is to come.
func (r *Redactor) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) > 0 {
		clean, _, prev := r.redact(r.held, r.prev, true)
		r.w.Write(clean)
		r.prev = prev
		r.held = nil
	}
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	clean, _, _ := r.redact([]byte(s), 0, true)
	return string(clean)
}

// redact returns data, which follows the byte prev, without its secrets, up to the point from where the rest may be the
// beginning of one, and the byte before that rest. With last set there is no such rest.
func (r *Redactor) redact(data []byte, prev byte, last bool) (clean, rest []byte, before byte) {
	from := 0 // data[from:i] is to be copied
	for i := 0; i < len(data); {
		n, wait := r.match(data[i:], prev)
		switch {
		case wait && !last:
			return append(clean, data[from:i]...), data[i:], prev
		case n > 0:
			clean = append(append(clean, data[from:i]...), mask...)
			i += n
			from, prev = i, 0
		default:
			prev = data[i]
			i++
		}
	}
	if from == 0 {
		return data, nil, prev
	}
	return append(clean, data[from:]...), nil, prev
}

// match says how long the longest secret is that data, which follows the byte prev, begins with, or 0; wait: what comes
// after data may change that.
func (r *Redactor) match(data []byte, prev byte) (n int, wait bool) {
	if !r.first[data[0]] {
		return 0, false
	}
	for _, s := range r.secrets {
		short := len(s) < minSecret
		switch {
		case short && inWord(prev):
		case !bytes.HasPrefix(data, s):
			wait = wait || len(data) < len(s) && bytes.HasPrefix(s, data)
		case short && len(data) == len(s):
			return len(s), true
		case short && inWord(data[len(s)]):
		default:
			return len(s), wait
		}
	}
	return 0, wait
}

// inWord says whether b is a digit or (part of) a letter.
func inWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf
}
