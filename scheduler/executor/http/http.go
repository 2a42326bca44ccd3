package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// keepBody is how much of a response becomes output, in bytes.
	keepBody = 1 << 20
	// readBody is how much of a response is read at all. A response may be the progress of the work behind it, which
	// hanging up would end; past this it is taken for endless.
	readBody = 64 << 20
	// idle is how long an unused connection is kept. It is short, since a request that meets a server's own hanging up
	// fails its attempt: servers keep connections for five seconds and more.
	idle = 2 * time.Second
)

// Config is what an Executor may be told. The zero value is good.
type Config struct {
	Version string      // of rota, for User-Agent
	TLS     *tls.Config // nil: the system's roots

	Refs  *refs.Policy // which references jobs may use; nil: all
	Reach *dial.Guard  // which addresses jobs may reach; nil: all
}

// Executor executes the kind http.
type Executor struct {
	client *http.Client
	agent  string
	now    func() time.Time
	refs   *refs.Policy
}

var _ executor.Executor = (*Executor)(nil)

// New returns an executor with a connection pool of its own. Close releases it.
func New(cfg Config, now func() time.Time) *Executor {
	agent := "rota"
	if cfg.Version != "" {
		agent += "/" + cfg.Version
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	if cfg.Reach != nil {
		dialer.ControlContext = cfg.Reach.Control
	}
	return &Executor{
		agent: agent,
		now:   now,
		refs:  cfg.Refs,
		client: &http.Client{
			Transport: &http.Transport{ // which speaks HTTP/1.1 alone: see wire
				DialContext:            dialer.DialContext,
				TLSClientConfig:        cfg.TLS,
				TLSHandshakeTimeout:    10 * time.Second,
				MaxIdleConns:           512,
				MaxIdleConnsPerHost:    512,
				IdleConnTimeout:        idle,
				ExpectContinueTimeout:  time.Second,
				MaxResponseHeaderBytes: 256 << 10,
				DisableCompression:     true, // what cannot be unpacked would make a failure of a success
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes the idle connections.
func (e *Executor) Close() { e.client.CloseIdleConnections() }

// Execute makes the request and reads the response to its end. Exit is the status.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	resolver := refs.Resolver{Policy: e.refs}
	r, err := e.request(ctx, &req, &resolver)
	out := executor.NewRedactor(req.Output, resolver.Secrets())
	var o job.Outcome
	var ruled bool
	if err != nil {
		o = job.Outcome{State: job.Failed, Reason: err.Error()}
		var broken *fill.Mistake
		var refused *refs.RefusedError
		o.Retry = !errors.As(err, &broken) && !errors.As(err, &refused) // a reference may resolve later, or on another worker
	} else {
		o, ruled = e.exchange(r, &req, out)
	}
	out.Flush()
	if interrupted, ok := executor.Interrupted(ctx, &req, e.now()); ok && !ruled {
		interrupted.Exit = o.Exit
		o = interrupted
	}
	o.At, o.Reason = e.now(), out.String(o.Reason)
	return o
}

// exchange sends the request and judges the response. ruled: the target has answered, and the outcome stands whatever ended
// the reading. A success is one only at the end of the response; for a failure its status is enough.
func (e *Executor) exchange(r *http.Request, req *executor.Request, out io.Writer) (o job.Outcome, ruled bool) {
	r, release := bound(r)
	defer release()
	resp, err := e.client.Do(r)
	if err != nil {
		var refused *dial.RefusedError
		if errors.As(err, &refused) { // another attempt would be refused too
			return job.Outcome{State: job.Failed, Reason: refused.Error()}, true
		}
		return job.Outcome{State: job.Failed, Reason: "request: " + plain(err), Retry: true}, false
	}
	defer resp.Body.Close()
	req.Progress()
	body := req.Heard(resp.Body)
	o = judge(resp, req.Spec.HTTP.Expect, e.now())
	_, err = io.Copy(out, io.LimitReader(body, keepBody))
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, io.LimitReader(body, readBody-keepBody))
		if n > 0 {
			fmt.Fprintf(out, "\n[rota: response is longer than %d bytes; the rest was not kept]\n", keepBody)
		}
	}
	if err != nil && o.State == job.Succeeded { // the target broke off in the middle of its answer
		o.State, o.Retry = job.Failed, true
		o.Reason = fmt.Sprintf("response with status %d broke off: %s", resp.StatusCode, plain(err))
		return o, false
	}
	return o, true
}

// plain is an error's text without the URL, which may hold secrets and is in the job anyway.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed by the target"
	}
	return err.Error()
}
