package etcdconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
)

// causeTimeout bounds the time in which unreached looks for the cause.
const causeTimeout = time.Second

// unreached explains why no endpoint answers. The error of the client only says that the time ran out.
func unreached(ctx context.Context, e config.Etcd, err error) string {
	certificates, tlsErr := clientTLS(e.TLS)
	if tlsErr != nil {
		return tlsErr.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, causeTimeout)
	defer cancel()
	for _, ep := range e.Endpoints {
		u, parseErr := url.Parse(ep)
		if parseErr != nil || u.Host == "" {
			continue
		}
		if cause := connect(ctx, u, certificates); cause != nil {
			return cause.Error()
		}
	}
	return failure.Short(err)
}

// connect connects to an endpoint once. It returns an error if the network or TLS prevents a request. certificates may be nil.
func connect(ctx context.Context, u *url.URL, certificates *tls.Config) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if certificates == nil {
		certificates = new(tls.Config)
	}
	certificates = certificates.Clone()
	certificates.ServerName, certificates.NextProtos = u.Hostname(), []string{"h2"}
	secured := tls.Client(conn, certificates)
	err = secured.HandshakeContext(ctx)
	if u.Scheme != "https" {
		refused, _ := errors.AsType[*net.OpError](err)
		alert := refused != nil && refused.Op == "remote error" // as package tls names an alert of the server
		if err == nil || alert || errors.As(err, new(*tls.CertificateVerificationError)) {
			return fmt.Errorf("%s has TLS: write https:// in etcd.endpoints", u.Host)
		}
		return nil
	}
	if err == nil {
		_, err = secured.Read(make([]byte, 1)) // a server refuses a client's certificate after the handshake
	}
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.As(err, new(tls.RecordHeaderError)):
		return fmt.Errorf("%s has no TLS: write http:// in etcd.endpoints", u.Host)
	}
	return fmt.Errorf("connect to %s with etcd.tls: %w", u.Host, err)
}
