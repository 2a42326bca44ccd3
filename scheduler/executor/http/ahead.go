package httpx

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// prepared is the connection of one request, opened before its time. So the request is late by no handshake, and requests that are
// due at one instant do not wait for each other's connections.
type prepared struct {
	transport    *http.Transport
	scheme, addr string

	mu     sync.Mutex
	end    context.CancelFunc // guarded by mu: ends Do; nil: Do has not begun
	over   bool               // guarded by mu: nobody may use the connection any more
	done   chan struct{}      // closed when client, conn and err are set
	client *http.ClientConn   // guarded by mu
	conn   net.Conn           // the connection below client; Do alone writes it, before done
	err    error              // guarded by mu
}

// Prepare returns the connection to the target of spec. It returns nil if only the attempt knows the address.
func (e *Executor) Prepare(spec *job.Spec) executor.Prepared {
	if spec.HTTP == nil || !canCheck {
		return nil
	}
	u, err := url.Parse(spec.HTTP.URL)
	if err != nil || u.Hostname() == "" || strings.ContainsFunc(u.Host, unusual) {
		return nil
	}
	return &prepared{transport: e.transport, scheme: u.Scheme, addr: address(u), done: make(chan struct{})}
}

// unusual reports whether r makes a host a template, or a name that the transport encodes.
func unusual(r rune) bool { return r == '{' || r == '}' || r > unicode.MaxASCII }

// address returns the host and the port of u.
func address(u *url.URL) string {
	port := "80"
	if u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
}

// Do opens the connection.
func (p *prepared) Do(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.end = cancel
	over := p.over
	p.mu.Unlock()
	if over {
		return
	}
	client, err := p.transport.NewClientConn(context.WithValue(ctx, preparedKey{}, p), p.scheme, p.addr)
	p.mu.Lock()
	p.client, p.err = client, err
	close(p.done)
	if p.over {
		p.closeLocked()
	}
	p.mu.Unlock()
}

// preparedKey is the key of the *prepared in the context of Do.
type preparedKey struct{}

// noting returns an opener that notes a connection in the prepared for which it opens it.
func noting(open opener) opener {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := open(ctx, network, addr)
		if p, ok := ctx.Value(preparedKey{}).(*prepared); ok {
			p.conn = conn
		}
		return conn, err
	}
}

// use returns the connection for a request to u, until Close. It waits while the connection is being opened. It returns nil without
// an error if the request needs another one.
func (p *prepared) use(ctx context.Context, u *url.URL) (*http.ClientConn, error) {
	p.mu.Lock()
	begun := p.end != nil && !p.over && p.scheme == u.Scheme && p.addr == address(u)
	p.mu.Unlock()
	if !begun {
		p.Close()
		return nil, nil
	}
	var waited bool
	select {
	case <-p.done:
	default:
		waited = true
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil && waited: // the request has failed, too
		return nil, p.err
	case p.client == nil:
		return nil, nil
	case p.client.Err() != nil || !established(p.conn):
		p.closeLocked()
		return nil, nil
	}
	return p.client, nil
}

// Close closes the connection.
func (p *prepared) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.end != nil {
		p.end()
	}
	p.closeLocked()
}

func (p *prepared) closeLocked() {
	if p.client != nil {
		_ = p.client.Close()
		p.client = nil
	}
}
