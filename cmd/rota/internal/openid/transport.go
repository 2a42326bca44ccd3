package openid

import (
	"crypto/tls"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/trust"
)

// transport carries requests to the provider. It reads the file of authorities again for each request, and makes new connections if
// the authorities have changed. It is safe for concurrent use.
type transport struct {
	ca *trust.File // nil: the authorities of the system

	mu      sync.Mutex
	trusted *trust.Authorities // of current
	current *http.Transport
}

// newTransport returns a transport that trusts the authorities in a file besides those of the system. file may be "".
func newTransport(file string) (*transport, error) {
	t := &transport{current: connections(nil)}
	if file == "" {
		return t, nil
	}
	t.ca = trust.NewFile("auth.oidc.ca", file)
	_, err := t.present()
	return t, err
}

// connections returns a transport for connections that trust the given authorities; nil stands for those of the system.
func connections(trusted *trust.Authorities) *http.Transport {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: answerWithin, IdleConnTimeout: time.Minute,
	}
	if trusted != nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted.Extended}
	}
	return t
}

// present returns the transport for the present authorities.
func (t *transport) present() (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ca == nil {
		return t.current, nil
	}
	trusted, err := t.ca.Read()
	if err != nil {
		return nil, err
	}
	if trusted != t.trusted {
		t.current.CloseIdleConnections()
		t.trusted, t.current = trusted, connections(trusted)
	}
	return t.current, nil
}

// RoundTrip cuts off answers that are too long.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	by, err := t.present()
	if err != nil {
		return nil, err
	}
	res, err := by.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// CloseIdleConnections closes the connections that no request uses.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current.CloseIdleConnections()
}
