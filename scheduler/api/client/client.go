package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// DefaultServer is the URL of a rota on this machine.
const DefaultServer = "http://127.0.0.1:8470"

// Config configures a Client.
type Config struct {
	Servers   string // base URLs, separated by commas; empty: DefaultServer.
	TokenFile string // file with a bearer token for all servers, read for every request; empty: none.
	// Token returns the bearer token for one server, empty for none. It is called for every request without a TokenFile. May be nil.
	Token     func(ctx context.Context, server string) (string, error)
	By        string            // name of the user, for records; may be empty.
	Agent     string            // User-Agent; empty: rota.
	Timeout   time.Duration     // for the answer of one server, or for the start of a stream; 0: 15 s.
	Transport http.RoundTripper // nil: a transport with the certificates of the system
	// Stale is called for an answer that may be outdated, because the server has not heard from the store for so long. May be nil.
	Stale func(server string, age time.Duration)

	// Known are further servers of the cluster that an earlier client learned. They are asked if none of Servers answers.
	Known []string
	// Learn is called when a server names the replicas of its cluster. If it is nil, servers are not asked for them.
	Learn func(replicas []string)
	// Moved is called when a learned server answers because from does not. May be nil.
	Moved func(from, to string)
}

// Client calls the servers of one cluster. Several goroutines may use it.
type Client struct {
	cfg     Config
	servers []string
	http    *http.Client
	sockets map[string]*http.Client // by the URL of a server at a Unix socket
	good    atomic.Pointer[string]  // the server that answered last; nil before the first answer

	mu      sync.Mutex
	learned []string // guarded by mu: replicas of the cluster, which are asked after servers
}

// New returns a Client. It does not connect to any server.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, sockets: map[string]*http.Client{}, learned: cfg.Known}
	for s := range strings.SplitSeq(cmp.Or(cfg.Servers, DefaultServer), ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if !strings.Contains(s, "://") {
			s = "http://" + s
		}
		if path, ok := strings.CutPrefix(s, socketScheme); ok && strings.HasPrefix(path, "/") {
			c.servers = append(c.servers, s)
			c.sockets[s] = c.clientOf(socketTransport(path))
			continue
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("server %q: write a URL, for example %s", s, DefaultServer)
		}
		c.servers = append(c.servers, strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"))
	}
	if len(c.servers) == 0 {
		return nil, fmt.Errorf("no server given: write a URL, for example %s", DefaultServer)
	}
	if c.cfg.Timeout <= 0 {
		c.cfg.Timeout = 15 * time.Second
	}
	transport := cfg.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2:   true,
			IdleConnTimeout:     time.Minute,
		}
	}
	c.http = c.clientOf(transport)
	return c, nil
}

// Close releases idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	for _, socket := range c.sockets {
		socket.CloseIdleConnections()
	}
}

// Servers returns the base URLs.
func (c *Client) Servers() []string { return append([]string(nil), c.servers...) }

// Answering returns the base URL of the server that answered last; the first one before that.
func (c *Client) Answering() string {
	if good := c.good.Load(); good != nil {
		return *good
	}
	return c.servers[0]
}

// call is one request, for any of the servers.
type call struct {
	method     string
	path       string
	query      url.Values
	header     map[string]string
	body       any           // nil: none
	repeatable bool          // a second execution has no further effect
	stream     bool          // the answer may take longer than the timeout
	timeout    time.Duration // for the answer; 0: that of the client
}

// do sends the request to one server after the other until one answers. Unless the answer is a stream, do reads it completely
// before it returns. The caller closes the body.
func (c *Client) do(ctx context.Context, q call) (*http.Response, error) {
	if path.Clean(q.path) != q.path { // a name is empty or consists of dots, and no server gets it
		return nil, fmt.Errorf("a name that is empty or consists of dots: %w", job.ErrNotFound)
	}
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return nil, fmt.Errorf("encode request %s %s: %w", q.method, q.path, err)
		}
	}
	var failed error
	first := c.Answering()
	for server := range c.order(ctx) {
		token, err := c.tokenFor(ctx, server)
		if err != nil {
			if failed == nil {
				failed = err
			}
			return nil, failed
		}
		res, err := c.send(ctx, server, q, body, token) //nolint:bodyclose // an error means that there is no body; the callers close it
		if err == nil {
			if c.good.Store(&server); server != first && c.cfg.Moved != nil && !slices.Contains(c.servers, server) {
				c.cfg.Moved(first, server)
			}
			return res, nil
		}
		// The error of a server that answered has priority over the error of a server that did not. Of two equal errors, the first
		// one has priority.
		if failed == nil || errors.Is(failed, errNoAnswer) && !errors.Is(err, errNoAnswer) {
			failed = err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !mayTryNext(q, err) {
			return nil, err
		}
	}
	return nil, c.unreachable(failed)
}

// mayTryNext reports whether do may send the request to the next server after an error of one server. It may not after 429, even
// for a read: the client asks for too much, and would load each server as much as one accepts. The caller waits for
// Error.RetryAfter.
func mayTryNext(q call, err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	return errors.Is(err, api.ErrUnavailable) && (q.method == http.MethodGet || q.repeatable)
}

// request returns the request of a call to the server at base.
func (c *Client) request(ctx context.Context, base string, q call, body []byte, token string) (*http.Request, error) {
	target := base + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request %s %s: %w", q.method, target, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", cmp.Or(c.cfg.Agent, "rota"))
	if c.cfg.By != "" {
		req.Header.Set(api.ByHeader, c.cfg.By)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range q.header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.cfg.Learn != nil {
		req.Header.Set(api.ReplicasHeader, "?")
	}
	return req, nil
}

func (c *Client) send(ctx context.Context, server string, q call, body []byte, token string) (*http.Response, error) {
	to, base := c.at(server)
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := c.request(ctx, base, q, body, token)
	if err != nil {
		cancel(err)
		return nil, err
	}
	timeout := cmp.Or(q.timeout, c.cfg.Timeout)
	timer := time.AfterFunc(timeout, func() { cancel(late(timeout)) })
	res, err := to.Do(req)
	if err != nil {
		timer.Stop()
		err = causeOf(ctx, err)
		cancel(err)
		return nil, &noAnswer{Server: server, Change: q.method != http.MethodGet, Err: err}
	}
	if age, err := strconv.Atoi(res.Header.Get(api.AgeHeader)); err == nil && c.cfg.Stale != nil && q.method == http.MethodGet {
		c.cfg.Stale(server, time.Duration(age)*time.Second)
	}
	c.learn(server, res.Header.Get(api.ReplicasHeader))
	res.Body = &released{ReadCloser: res.Body, release: func() { timer.Stop(); cancel(context.Canceled) }}
	if q.stream && res.StatusCode < 300 {
		timer.Stop()
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil { // an incomplete answer counts as no answer
		err = fmt.Errorf("read answer: %w", causeOf(ctx, err))
		return nil, &noAnswer{Server: server, Change: q.method != http.MethodGet, Err: err}
	}
	if res.StatusCode >= 300 {
		return nil, readProblem(server, res, answer)
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	return res, nil
}

// causeOf returns why ctx has ended, and err if it has not.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// released is a response body. When it is closed, it releases the context and the timer of its request.
type released struct {
	io.ReadCloser
	release func()
}

func (r *released) Close() error {
	err := r.ReadCloser.Close()
	r.release()
	return err
}

// token returns the token for a server. It reads the token file for each request, so that a new token is used at once.
func (c *Client) token(ctx context.Context, server string) (string, error) {
	switch {
	case c.cfg.TokenFile != "":
		b, err := os.ReadFile(c.cfg.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
		token, err := ParseToken(string(b))
		if err != nil {
			return "", fmt.Errorf("read token: %s: %w", c.cfg.TokenFile, err)
		}
		return token, nil
	case c.cfg.Token != nil:
		return c.cfg.Token(ctx, server)
	}
	return "", nil
}
