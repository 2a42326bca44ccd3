package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// streamContext returns the context of a stream. The context ends with the request, with the server, or when end is called. It
// also ends after the caller's token or session, or when the caller's rights change. If opened is not called within the timeout of
// an ordinary request, the context ends then.
func (s *Server) streamContext(request context.Context) (ctx context.Context, opened, end func()) {
	ctx, cancel := context.WithCancelCause(request)
	unhook := context.AfterFunc(s.stopping, func() { cancel(errStopping) })
	timer := time.AfterFunc(s.cfg.RequestTimeout, func() { cancel(context.DeadlineExceeded) })
	opened = func() { timer.Stop() }
	if recheck, ok := request.Value(recheckKey{}).(func() error); ok {
		s.inFlight.Go(func() { s.recheckEvery(ctx, recheck, cancel) })
	}
	end = func() {
		timer.Stop()
		unhook()
		cancel(context.Canceled)
	}
	return ctx, opened, end
}

// recheckEvery ends the context of a stream when its caller is no longer the one that opened it.
func (s *Server) recheckEvery(ctx context.Context, recheck func() error, end context.CancelCauseFunc) {
	tick := time.NewTicker(s.cfg.Recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := recheck(); err != nil {
				end(err)
				return
			}
		}
	}
}

// cause returns the cause of the end of ctx. It returns err if ctx has not ended.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// stream is the response to one long request. If its client reads nothing for the timeout, the client is disconnected.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// errNoBody ends a stream whose client asked for the headers alone.
var errNoBody = errors.New("the answer to HEAD has no body")

// startStream sends the headers at once. So the client knows before the first event that it is connected. After HEAD it returns
// errNoBody: a stream without an end would hold up the next request of the connection.
func (s *Server) startStream(ctx huma.Context, contentType string) (*stream, error) {
	_, w := humago.Unwrap(ctx)
	st := &stream{w: w, control: http.NewResponseController(w), timeout: s.cfg.WriteTimeout}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers the stream
	w.WriteHeader(http.StatusOK)
	if err := st.send(nil); err != nil || ctx.Method() != http.MethodHead {
		return st, err
	}
	return st, errNoBody
}

func (st *stream) send(b []byte) error {
	// An error means that the connection has no deadlines, as in tests.
	_ = st.control.SetWriteDeadline(time.Now().Add(st.timeout))
	if len(b) > 0 {
		if _, err := st.w.Write(b); err != nil {
			return err
		}
	}
	return st.control.Flush()
}

// streaming returns an operation whose answer is not JSON.
func (s *Server) streaming(doc huma.API, o operation, contentType, description string) huma.Operation {
	op := s.operation(doc, o)
	op.Responses = map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	return op
}
