package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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
	// keepBody is how many bytes of a response become output.
	keepBody = 1 << 20
	// readBody is how many bytes of a response are read. A response may report the progress of work, and the work would end with
	// the connection. A longer response counts as endless.
	readBody = 64 << 20
	// idleTimeout is how long an unused connection is kept. A request on a connection that the server is closing fails, and the
	// server has not seen it. Some servers close unused connections after one or two seconds. A job with that period would meet
	// this moment again and again.
	idleTimeout = 500 * time.Millisecond
)

// Config configures an Executor. The zero value is valid.
type Config struct {
	Version string      // the version of rota, for the header User-Agent
	TLS     *tls.Config // nil: the system's roots

	Refs  *refs.Policy // which references jobs may use; nil: all
	Reach *dial.Guard  // which addresses jobs may reach; nil: all
}

// Executor executes the kind http.
type Executor struct {
	transport *http.Transport
	agent     string
	now       func() time.Time
	refs      *refs.Policy
	files     executor.Files
	// arrival is how long a response may take to be read after the end of its attempt. While this process or its machine was
	// suspended, the target may have answered, and the attempt may have ended. The target has then done its work.
	arrival time.Duration
}

var (
	_ executor.Executor = (*Executor)(nil)
	_ executor.Preparer = (*Executor)(nil)
)

// New returns an executor with a connection pool of its own. Close releases it.
func New(cfg Config, now func() time.Time) *Executor {
	agent := "rota"
	if cfg.Version != "" {
		agent += "/" + cfg.Version
	}
	dial := newDialer(cfg)
	return &Executor{
		agent:   agent,
		now:     now,
		refs:    cfg.Refs,
		arrival: 100 * time.Millisecond,
		transport: &http.Transport{ // HTTP/1.1 only: see connection
			DialContext:            noting(dial.plain),
			DialTLSContext:         noting(dial.secure),
			MaxIdleConns:           512,
			MaxIdleConnsPerHost:    512,
			IdleConnTimeout:        idleTimeout,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: 256 << 10,
			DisableCompression:     true, // if a response could not be unpacked, a success would become a failure
		},
	}
}

// Close closes the idle connections.
func (e *Executor) Close() { e.transport.CloseIdleConnections() }

// Execute sends the request and reads the response to its end. Exit is the status.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	if o, ended := executor.Interrupted(ctx, &req, e.now()); ended {
		return o
	}
	filled, ok := e.fill(ctx, &req)
	if !ok {
		o, _ := executor.Interrupted(ctx, &req, e.now())
		o.Reason += executor.FilesHang
		return o
	}
	r, err := filled.request, filled.err
	out := executor.NewRedactor(req.Output, filled.secrets)
	var o job.Outcome
	var final bool
	if executor.NoDescriptor(err) { // for the file of a reference
		o = executor.NotBegun(err)
	} else if err != nil {
		o = job.Outcome{State: job.Failed, Reason: err.Error()}
		var broken *fill.Mistake
		var refused *refs.RefusedError
		o.Retry = !errors.As(err, &broken) && !errors.As(err, &refused) // a reference may resolve later, or on another worker
	} else {
		o, final = e.exchange(r, &req, out)
	}
	if interrupted, ok := executor.Interrupted(ctx, &req, e.now()); ok && !final {
		interrupted.Exit = o.Exit
		o = interrupted
	}
	o = out.Outcome(o)
	o.At = e.now()
	return o
}

// exchange sends the request and judges the response. If final is true, the target has answered, and the outcome is valid even
// if the context has ended since. The status is enough for a failure. A success needs the whole response.
func (e *Executor) exchange(r *http.Request, req *executor.Request, out io.Writer) (o job.Outcome, final bool) {
	r, c, release := discardUnsent(r, e.arrival)
	defer release()
	resp, err := e.send(r, c, req.Prepared)
	if err != nil {
		if refused, ok := errors.AsType[*dial.RefusedError](err); ok { // a retry would be refused too
			return job.Outcome{State: job.Failed, Reason: refused.Error()}, true
		}
		if o, ok := notBegun(err, req.Run.Attempt); ok {
			return o, false
		}
		return job.Outcome{State: job.Failed, Reason: "request: " + plain(err), Retry: true}, false
	}
	defer resp.Body.Close()
	req.Progress()
	o = judge(resp, req.Spec.HTTP.Expect, e.now())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return o, true // the bytes behind it are no response, and the transport does not end their reading with the context
	}
	kept := beginning{to: out, room: keepBody}
	limited := &io.LimitedReader{R: req.ReportReads(resp.Body), N: readBody}
	body := io.TeeReader(limited, &kept)
	var unfit error
	if len(req.Spec.Outputs) > 0 && o.State == job.Succeeded {
		o.Outputs, unfit = outputs(body, req.Spec.Outputs)
	}
	_, err = io.Copy(io.Discard, body) // after an error it returns the error again
	if kept.cut {
		fmt.Fprintf(out, "\n[rota: response is longer than %d bytes; the rest was not kept]\n", keepBody)
	}
	switch {
	case o.State != job.Succeeded:
	case err != nil: // the response is incomplete
		o.State, o.Retry, o.Outputs = job.Failed, true, nil
		o.Reason = fmt.Sprintf("response with status %d broke off: %s", resp.StatusCode, plain(err))
		return o, false
	case unfit != nil: // the work is done, so it is not repeated
		if limited.N <= 0 {
			unfit = fmt.Errorf("outputs: the response is longer than %d bytes", readBody)
		}
		o.State, o.Reason, o.Outputs = job.Failed, unfit.Error(), nil
	}
	return o, true
}

// send sends r on the connection that was prepared for it, otherwise on one of the pool. The caller closes the
// body of the response.
func (e *Executor) send(r *http.Request, c *connection, ahead executor.Prepared) (*http.Response, error) {
	client := http.Client{
		Transport:     e.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if p, ok := ahead.(*prepared); ok {
		conn, err := p.use(r.Context(), r.URL)
		if err != nil {
			return nil, err
		}
		if conn != nil {
			c.use(p.conn)
			client.Transport = conn
		}
	}
	return client.Do(r)
}

// plain returns the text of err without the URL, which may hold secrets and is in the job anyway.
func plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed by the target"
	}
	return err.Error()
}
