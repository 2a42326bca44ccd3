package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// minSecret is the least length, in bytes, of a value that is hidden everywhere. A shorter value is hidden only where it is
	// a whole word: hiding every "1" would make the output unreadable and reveal more than it hides.
	minSecret = 4
	// minSecretLine is the least length, in bytes, of a line of a value that is hidden on its own. Programs print key files line
	// by line, so the whole value does not occur in one piece.
	minSecretLine = 8
	mask          = "***"
)

// Redactor is a writer that replaces every secret by ***, including a secret that is split across writes. Bytes that may begin
// a secret wait for the next Write or for Flush.
//
// It knows the exact values and their spellings in JSON, because rota sends them so and targets repeat bad requests. A secret
// that a program encodes otherwise, splits or abbreviates is not hidden.
type Redactor struct {
	secrets [][]byte  // longest first
	first   [256]bool // first bytes of secrets

	mu      sync.Mutex
	w       io.Writer
	pending []byte // bytes that are not passed on yet, since they may begin a secret
	prev    byte   // the byte before pending; 0: none, or a secret
}

// NewRedactor returns a redactor that hides the secrets from w. A secret of less than four bytes is hidden only as a
// whole word, with no letter or digit beside it.
func NewRedactor(w io.Writer, secrets []string) *Redactor {
	r := &Redactor{w: w}
	add := func(s string, least int) {
		if len(s) >= least {
			r.secrets = append(r.secrets, []byte(s))
			r.first[s[0]] = true
		}
	}
	for _, s := range secrets {
		add(s, 1)
		for _, spelling := range inJSON(s) {
			add(spelling, minSecret)
		}
		if strings.ContainsRune(s, '\n') {
			for line := range strings.Lines(s) {
				add(strings.TrimSpace(line), minSecretLine)
			}
		}
	}
	slices.SortFunc(r.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// inJSON returns the spellings of s inside of a JSON text that differ from s. Encoders escape <, > and & for browsers, or not.
func inJSON(s string) (spellings []string) {
	for _, escapeHTML := range []bool{false, true} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if e.Encode(s) != nil {
			continue
		}
		if text := strings.TrimSpace(b.String()); text[1:len(text)-1] != s {
			spellings = append(spellings, text[1:len(text)-1])
		}
	}
	return spellings
}

// Write passes p on without the secrets. It always takes all of p. It ignores errors of the underlying writer, because the job
// did not cause them.
func (r *Redactor) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.secrets) == 0 {
		_, _ = r.w.Write(p)
		return len(p), nil
	}
	data := p
	if len(r.pending) > 0 {
		r.pending = append(r.pending, p...)
		data = r.pending
	}
	clean, rest, prev := r.redact(data, r.prev, false)
	_, _ = r.w.Write(clean)
	r.pending, r.prev = bytes.Clone(rest), prev
	return len(p), nil
}

// Flush passes on the pending bytes. Call it after the last Write.
func (r *Redactor) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		clean, _, prev := r.redact(r.pending, r.prev, true)
		_, _ = r.w.Write(clean)
		r.prev = prev
		r.pending = nil
	}
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	clean, _, _ := r.redact([]byte(s), 0, true)
	return string(clean)
}

// Outcome returns o without the secrets, at the end of an attempt. It replaces those of the reason. Programs act on outputs, so a
// value with *** would do harm: Outcome leaves out each output that contains a secret, and says so in the text of the attempt. The
// state stays, because the work is done. A step that needs such an output fails. Outputs may contain secrets of less than four
// bytes, which are ordinary words.
func (r *Redactor) Outcome(o job.Outcome) job.Outcome {
	kept := make(map[string]string, len(o.Outputs))
	for _, name := range slices.Sorted(maps.Keys(o.Outputs)) {
		if value := o.Outputs[name]; !r.reveals(name) && !r.reveals(value) {
			kept[name] = value
			continue
		}
		r.Flush()
		if !r.atLineStart() {
			_, _ = r.Write([]byte("\n"))
		}
		_, _ = fmt.Fprintf(r, "rota: output %s is left out, because it contains the value of a reference\n", name)
	}
	r.Flush()
	if len(kept) < len(o.Outputs) {
		o.Outputs = kept
	}
	o.Reason = r.String(o.Reason)
	return o
}

// atLineStart reports whether the last byte ended a line, or there was none.
func (r *Redactor) atLineStart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prev == 0 || r.prev == '\n'
}

// reveals reports whether s contains a secret that is hidden everywhere.
func (r *Redactor) reveals(s string) bool {
	return slices.ContainsFunc(r.secrets, func(secret []byte) bool {
		return len(secret) >= minSecret && strings.Contains(s, string(secret))
	})
}

// redact returns data without its secrets and without rest. rest is the end of data that may be the beginning of a secret. prev
// is the byte before data, and before is the byte before rest. If last is true, there is no rest.
func (r *Redactor) redact(data []byte, prev byte, last bool) (clean, rest []byte, before byte) {
	from := 0 // data[from:i] is not copied yet
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

// match returns the length of the longest secret at the beginning of data; 0 if there is none. prev is the byte before data.
// wait reports that later bytes may change the answer.
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

// inWord reports whether b is a digit or a part of a letter.
func inWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf
}
