package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// handshake connects to an address with TLS.
func handshake(ctx context.Context, t *http.Transport, network, addr string, cfg *tls.Config) (net.Conn, error) {
	conn, err := t.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.TLSHandshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// orPlain returns a function that connects as t does, and without TLS if the other side has none. Only a process whose own TLS is
// optional uses it: an attacker on the network could pretend that the other side has none.
func orPlain(t *http.Transport) func(ctx context.Context, network, addr string) (net.Conn, error) {
	secure := t.DialTLSContext
	if secure == nil {
		secure = func(ctx context.Context, network, addr string) (net.Conn, error) {
			cfg := t.TLSClientConfig.Clone()
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			cfg.ServerName = host
			return handshake(ctx, t, network, addr, cfg)
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := secure(ctx, network, addr)
		if _, plain := errors.AsType[tls.RecordHeaderError](err); !plain {
			return conn, err
		}
		return t.DialContext(ctx, network, addr)
	}
}
