package executor

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

const (
	// minSecret is the length from which a value is hidden: hiding "1" would make the output unreadable and tell more
	// than it hides.
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
}

// NewRedactor returns a redactor that hides the secrets from w. Values of less than four bytes are not hidden.
func NewRedactor(w io.Writer, secrets []string) *Redactor {
	r := &Redactor{w: w}
	hide := func(s string, atLeast int) {
		if len(s) >= atLeast {
			r.secrets = append(r.secrets, []byte(s))
			r.first[s[0]] = true
		}
	}
	for _, s := range secrets {
		hide(s, minSecret)
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
	clean, rest := r.redact(data, false)
	r.w.Write(clean)
	r.held = bytes.Clone(rest)
	return len(p), nil
}

// Flush passes on what was held back. Call it when no more is to come.
func (r *Redactor) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) > 0 {
		clean, _ := r.redact(r.held, true)
		r.w.Write(clean)
		r.held = nil
	}
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	clean, _ := r.redact([]byte(s), true)
	return string(clean)
}

// redact returns data without its secrets, up to the point from where the rest may be the beginning of one.
// With last set there is no such rest.
func (r *Redactor) redact(data []byte, last bool) (clean, rest []byte) {
	from := 0 // data[from:i] is to be copied
	for i := 0; i < len(data); {
		n, wait := r.match(data[i:])
		switch {
		case wait && !last:
			return append(clean, data[from:i]...), data[i:]
		case n > 0:
			clean = append(append(clean, data[from:i]...), mask...)
			i += n
			from = i
		default:
			i++
		}
	}
	if from == 0 {
		return data, nil
	}
	return append(clean, data[from:]...), nil
}

// match says how long the longest secret is that data begins with, or 0; wait: data may be the beginning of one that
// is longer.
func (r *Redactor) match(data []byte) (n int, wait bool) {
	if !r.first[data[0]] {
		return 0, false
	}
	for _, s := range r.secrets {
		if bytes.HasPrefix(data, s) {
			return len(s), wait
		}
		if len(data) < len(s) && bytes.HasPrefix(s, data) {
			wait = true
		}
	}
	return 0, wait
}
