package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Config is the data of a Server. DefaultConfig has a value for everything.
type Config struct {
	Listen string      // host:port; an empty host means all addresses
	Hosts  []string    // names of this process in requests, besides localhost; *.domain means all below a domain
	TLS    *tls.Config // nil: plain HTTP

	Version VersionView

	RequestTimeout time.Duration // for everything but streams
	WriteTimeout   time.Duration // a client that takes nothing for so long is cut off
	Heartbeat      time.Duration // between two signs of life on an idle event stream
	ShutdownGrace  time.Duration // for requests in flight when Run's context ends
}

// The limits on what a caller may send, in bytes.
const (
	MaxBody    = 1 << 20
	MaxPayload = 256 << 10
	MaxKey     = 255
)

// DefaultConfig listens on loopback.
func DefaultConfig() Config {
	return Config{
		Listen:         "127.0.0.1:8470",
		RequestTimeout: 10 * time.Second,
		WriteTimeout:   10 * time.Second,
		Heartbeat:      15 * time.Second,
		ShutdownGrace:  5 * time.Second,
	}
}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("http.listen %q: write host:port, for example 127.0.0.1:8470", c.Listen))
	}
	for name, d := range map[string]time.Duration{
		"request timeout": c.RequestTimeout, "write timeout": c.WriteTimeout,
		"heartbeat": c.Heartbeat, "shutdown grace": c.ShutdownGrace,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("http %s %s: must be positive", name, d))
		}
	}
	return errors.Join(errs...)
}
