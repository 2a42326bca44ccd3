package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
)

// File is the content of a file of credentials.
type File struct {
	Servers map[string]Entry `yaml:"servers"` // by origin, such as https://q1:8470
}

// Entry is the proof for one server. Exactly one of Token, TokenFile and OpenID is set.
type Entry struct {
	Token     string  `yaml:"token,omitempty"`
	TokenFile string  `yaml:"token_file,omitempty"` // path of a file with a token
	OpenID    *OpenID `yaml:"oidc,omitempty"`
}

// OpenID is what `rota login` received from an OpenID provider.
type OpenID struct {
	Issuer   string    `yaml:"issuer"`
	ClientID string    `yaml:"client_id"`
	IDToken  string    `yaml:"id_token"`
	Refresh  string    `yaml:"refresh_token,omitempty"` // for the next ID token; empty: the person must sign in again
	Expires  time.Time `yaml:"expires"`                 // of the ID token
}

// Load reads a file of credentials. A file that does not exist is empty, and so is one below a home that is no directory, or that
// belongs to another user. It is an error if others can read the file.
func Load(path string) (File, error) {
	f := File{Servers: map[string]Entry{}}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("read credentials: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return f, fmt.Errorf("read credentials: other users can read %s: chmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &f)
	}
	if err != nil {
		return f, fmt.Errorf("read credentials %s: %w", path, err)
	}
	return f, nil
}

// Save replaces a file of credentials. Only its owner can read it.
func (f File) Save(path string) error {
	text, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode credentials: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	if err := atomicfile.Replace(path, text); err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	return nil
}

// For returns the entry of a server.
func (f File) For(server string) (Entry, bool) {
	want := Origin(server)
	for name, e := range f.Servers {
		if Origin(name) == want {
			return e, true
		}
	}
	return Entry{}, false
}

// Origin returns the scheme, host and port of a server. localhost and 127.0.0.1 differ: another user of the machine may listen at
// the same port of ::1.
func Origin(server string) string {
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	u, err := url.Parse(strings.TrimSpace(server))
	if err != nil {
		return server
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}
