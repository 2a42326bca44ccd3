package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Config configures a Server. DefaultConfig has a value for every field.
type Config struct {
	Listen string      // host:port; an empty host means all addresses.
	Hosts  []string    // names of this process in the header Host, besides localhost; *.domain stands for all names below a domain.
	TLS    *tls.Config // nil: plain HTTP.
	Plain  bool        // with TLS: also accept plain HTTP on the same port

	// Auth authenticates callers. If it is nil, every caller has all rights.
	Auth Authenticator
	// Sessions signs browsers in. It may be nil if Auth is nil.
	Sessions Sessions
	// OpenID signs browsers in by an OpenID provider; nil: there is none. It needs Sessions.
	OpenID OpenID
	// Observe allows every request. Requests that would be refused are logged.
	Observe bool

	// Refused is called for each refused request, with the reason, such as RefusedHost; nil: nothing counts them.
	Refused func(reason string)

	Reads int // reads of one client in a second; 0: any number

	Version VersionView

	// Page makes the handler of the page for people; nil: this process has none. The page acts only through operations.
	Page func(Operations) http.Handler

	RequestTimeout time.Duration // for a request that is not a stream.
	WriteTimeout   time.Duration // a client that reads nothing for this long is disconnected.
	Heartbeat      time.Duration // interval of comments on an idle event stream.
	Recheck        time.Duration // interval at which the proof of an open stream's caller is checked again.
	ShutdownGrace  time.Duration // for running requests when Run's context ends
}

// The limits of a request, in bytes.
const (
	MaxBody    = 1 << 20
	MaxPayload = 256 << 10
	MaxKey     = 255
)

// DefaultConfig returns a Config that listens on loopback.
func DefaultConfig() Config {
	return Config{
		Listen:         "127.0.0.1:8470",
		Reads:          1000,
		RequestTimeout: 10 * time.Second,
		WriteTimeout:   10 * time.Second,
		Heartbeat:      15 * time.Second,
		Recheck:        5 * time.Second,
		ShutdownGrace:  5 * time.Second,
	}
}

// Validate returns every mistake in c.
func (c Config) Validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("http.listen %q: write host:port, for example 127.0.0.1:8470", c.Listen))
	}
	for name, d := range map[string]time.Duration{
		"request timeout": c.RequestTimeout, "write timeout": c.WriteTimeout,
		"heartbeat": c.Heartbeat, "recheck": c.Recheck, "shutdown grace": c.ShutdownGrace,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("http %s %s: must be positive", name, d))
		}
	}
	return errors.Join(errs...)
}
