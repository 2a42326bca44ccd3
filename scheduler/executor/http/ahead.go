package httpx

import (
	"cmp"
	"context"
	"net"
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
	scheme, addr string
	open         opener

	mu   sync.Mutex
	end  context.CancelFunc // guarded by mu: ends Do; nil: Do has not begun
	over bool               // guarded by mu: nobody takes the connection any more
	done chan struct{}      // closed when conn and err are set
	conn net.Conn           // guarded by mu
	err  error              // guarded by mu
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
	p := &prepared{scheme: u.Scheme, open: e.dial.plain, done: make(chan struct{})}
	port := "80"
	if u.Scheme == "https" {
		p.open, port = e.dial.secure, "443"
	}
	p.addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	return p
}

// unusual reports whether r makes a host a template, or a name that the transport encodes.
func unusual(r rune) bool { return r == '{' || r == '}' || r > unicode.MaxASCII }

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
	conn, err := p.open(ctx, "tcp", p.addr)
	p.mu.Lock()
	p.conn, p.err = conn, err
	close(p.done)
	if p.over {
		p.closeLocked()
	}
	p.mu.Unlock()
}

// take returns the connection, which belongs to the caller from then on. It waits while the connection is being opened. It returns
// nil without an error if the caller must open one.
func (p *prepared) take(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	begun := p.end != nil && !p.over
	p.over = p.over || !begun
	p.mu.Unlock()
	if !begun {
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
	conn := p.conn
	p.conn, p.over = nil, true
	switch {
	case p.err != nil && waited: // the request has failed, too
		return nil, p.err
	case conn == nil:
		return nil, nil
	case !established(conn):
		_ = conn.Close()
		return nil, nil
	}
	return conn, nil
}

// Close closes the connection if nobody has taken it.
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
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// preparedKey is the key of a *prepared in the context of its request.
type preparedKey struct{}

// ahead returns an opener that takes the connection that was prepared for the request, and otherwise opens one.
func ahead(scheme string, open opener) opener {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if p, ok := ctx.Value(preparedKey{}).(*prepared); ok && p.scheme == scheme && p.addr == addr {
			if conn, err := p.take(ctx); conn != nil || err != nil {
				return conn, err
			}
		}
		return open(ctx, network, addr)
	}
}
