package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"
)

// checkPort listens on u for a moment. etcd's own error for a busy port comes
// late and does not name the setting to change. It returns u with a real port
// instead of port 0.
func checkPort(what string, u url.URL) (url.URL, error) {
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		return u, fmt.Errorf("listen for %s traffic on %s: %w%s", what, u.Host, err, hint(err, what))
	}
	defer l.Close()
	if u.Port() == "0" {
		port := l.Addr().(*net.TCPAddr).Port
		u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
	}
	return u, nil
}

func hint(err error, what string) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf(" (another process listens there: stop it, or give etcd.embedded.%s another port)", what)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return " (not an address of this machine)"
	case errors.Is(err, syscall.EACCES):
		return " (ports below 1024 need privileges)"
	}
	return ""
}

// loopback reports whether only this machine can reach u.
func loopback(u url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
