package refs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxFile is the largest file that a reference may name, in bytes.
const maxFile = 1 << 20

// The kinds of references.
const (
	envPrefix  = "${env:"
	filePrefix = "${file:"
)

// Resolver resolves references and remembers their values, so that these can be hidden. The zero value is ready to use.
// It serves one attempt and one goroutine. Each attempt reads the files again, so that it sees a rotated secret.
type Resolver struct {
	Policy *Policy // which references are allowed; nil: all

	secrets []string
}

// Secrets returns the values that were resolved.
func (r *Resolver) Secrets() []string { return slices.Clone(r.secrets) }

// Expand returns s with every reference replaced by its value. A value that looks like a reference stays unchanged.
func (r *Resolver) Expand(s string) (string, error) {
	parts, err := Split(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		v := p.Text
		if p.Ref {
			if v, err = r.Resolve(p.Text); err != nil {
				return "", err
			}
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

// Part is a piece of a string: plain text or one whole reference.
type Part struct {
	Text string
	Ref  bool
}

// Split splits a string at its references. It fails if a reference is not closed.
func Split(s string) ([]Part, error) {
	var parts []Part
	for {
		at := next(s)
		if at < 0 {
			break
		}
		n := strings.IndexByte(s[at:], '}')
		if n < 0 {
			return nil, fmt.Errorf("reference %s: closing brace is missing", s[at:at+strings.IndexByte(s[at:], ':')+1])
		}
		if at > 0 {
			parts = append(parts, Part{Text: s[:at]})
		}
		parts = append(parts, Part{Text: s[at : at+n+1], Ref: true})
		s = s[at+n+1:]
	}
	if s != "" {
		parts = append(parts, Part{Text: s})
	}
	return parts, nil
}

// Has reports whether s has a reference.
func Has(s string) bool { return next(s) >= 0 }

// next returns the position of the first reference in s; -1 if there is none.
func next(s string) int {
	env, file := strings.Index(s, envPrefix), strings.Index(s, filePrefix)
	if env < 0 || file >= 0 && file < env {
		return file
	}
	return env
}

// Resolve returns the value of one reference. The value of a file does not include one newline at its end.
func (r *Resolver) Resolve(ref string) (string, error) {
	body := strings.TrimSuffix(ref, "}")
	var v string
	if name, ok := strings.CutPrefix(body, envPrefix); ok {
		if err := r.Policy.env(name); err != nil {
			return "", fmt.Errorf("reference %s: %w", ref, err)
		}
		if v, ok = os.LookupEnv(name); !ok {
			return "", fmt.Errorf("reference %s: variable is not set here", ref)
		}
	} else if path, ok := strings.CutPrefix(body, filePrefix); ok {
		var err error
		if v, err = r.readFile(path); err != nil {
			return "", fmt.Errorf("reference %s: %w", ref, err)
		}
	} else {
		return "", fmt.Errorf("reference %s: neither ${env:NAME} nor ${file:/path}", ref)
	}
	if strings.IndexByte(v, 0) >= 0 {
		return "", fmt.Errorf("reference %s: value has a zero byte", ref)
	}
	if v != "" {
		r.secrets = append(r.secrets, v)
	}
	return v, nil
}

func (r *Resolver) readFile(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", errors.New("path is not absolute")
	}
	path, err := r.Policy.file(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would block until another process opens it for writing
		return "", errors.New("not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have taken its place
	}
	if errors.Is(err, syscall.EAGAIN) { // another process has a lease on the file, and gives it up for who waits
		f, err = os.Open(path)
	}
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err // the error names the reference, which has the path
		}
		return "", fmt.Errorf("cannot be read here: %w", err)
	}
	defer f.Close()
	if !r.Policy.opened(f, path) {
		return "", errors.New("file was replaced while it was opened")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", errors.New("file cannot be read")
	}
	if len(b) > maxFile {
		return "", fmt.Errorf("file is larger than %d bytes", maxFile)
	}
	if b, ok := bytes.CutSuffix(b, []byte("\r\n")); ok {
		return string(b), nil
	}
	return string(bytes.TrimSuffix(b, []byte("\n"))), nil
}
