package trust

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"
)

// File is a PEM file of authorities. It is safe for concurrent use.
type File struct {
	setting, path string

	mu   sync.Mutex
	last *Authorities // guarded by mu; nil: Read has not succeeded yet
	seen time.Time    // guarded by mu: when the file had them
}

// Authorities are the certificates of a file. Nobody changes them.
type Authorities struct {
	Own      *x509.CertPool // those of the file
	Extended *x509.CertPool // those of the file and of the system
	text     []byte
}

// NewFile returns the file at path. Errors name the setting that has the path.
func NewFile(setting, path string) *File { return &File{setting: setting, path: path} }

// Read returns the authorities of the file, the same pointer as before if the file has not changed. If the file has no
// certificate, as while it is being written, Read returns the last authorities. It returns an error if there are none.
func (f *File) Read() (*Authorities, error) { return f.ReadSince(time.Time{}) }

// ReadSince is Read, but it only returns last authorities that the file had at the time least or later. So authorities that were
// removed long ago do not count again if the file breaks.
func (f *File) ReadSince(least time.Time) (*Authorities, error) {
	f.mu.Lock() // also while it reads: a slow reader must not put an older version back
	defer f.mu.Unlock()
	now, err := f.read(f.last)
	switch {
	case err == nil:
		f.last, f.seen = now, time.Now()
		return now, nil
	case f.last != nil && !f.seen.Before(least):
		return f.last, nil
	}
	return nil, err
}

// Check returns an error if the file has no certificate now.
func (f *File) Check() error {
	_, err := f.read(nil)
	return err
}

// read reads the file. It returns last if the file still has the same text.
func (f *File) read(last *Authorities) (*Authorities, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.setting, err)
	}
	if last != nil && bytes.Equal(text, last.text) {
		return last, nil
	}
	a := &Authorities{Own: x509.NewCertPool(), text: text}
	if !a.Own.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read %s %s: no certificate in it", f.setting, f.path)
	}
	if a.Extended, err = x509.SystemCertPool(); err != nil {
		a.Extended = x509.NewCertPool()
	}
	a.Extended.AppendCertsFromPEM(text)
	return a, nil
}
