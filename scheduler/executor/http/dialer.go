package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// How long the steps of opening a connection may take.
const (
	connectTimeout   = 10 * time.Second
	handshakeTimeout = 10 * time.Second
)

var errHandshake = errors.New("TLS handshake timeout")

// opener opens a connection to an address.
type opener func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer opens the connections of requests.
type dialer struct {
	plain opener // for http
	tls   *tls.Config
}

func newDialer(cfg Config) dialer {
	d := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	if cfg.TLS == nil {
		cfg.TLS = new(tls.Config)
	}
	plain := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return cfg.Reach.Dial(ctx, d, network, addr)
	}
	return dialer{plain: plain, tls: cfg.TLS}
}

// secure is the opener for https.
func (d *dialer) secure(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.plain(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := d.tls.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errHandshake)
	defer cancel()
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return secured, nil
}
