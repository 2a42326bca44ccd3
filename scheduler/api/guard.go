package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"unicode"
)

// recorder remembers what became of a response. It passes everything else through (http.ResponseController unwraps it).
type recorder struct {
	http.ResponseWriter
	status int   // 0 until the header is written
	failed error // of the first Write that failed: the client is gone
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	if err != nil && r.failed == nil {
		r.failed = err
	}
	return n, err
}

// contain ends a handler's panic at its own request, and writes one line for each request.
func (s *Server) contain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.inFlight.Add(1)
		defer s.inFlight.Done()
		began := s.now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			p := recover()
			s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
				"took", s.now().Sub(began), "remote", r.RemoteAddr)
			switch {
			case p == nil:
			case p == http.ErrAbortHandler || rec.failed != nil:
				panic(http.ErrAbortHandler)
			default:
				s.log.Error("request handler panicked", "method", r.Method, "path", r.URL.Path,
					"err", fmt.Sprint(p), "stack", string(debug.Stack()))
				if rec.status != 0 {
					panic(http.ErrAbortHandler)
				}
				writeProblem(rec, http.StatusInternalServerError, "a defect in rota: its log has the details")
			}
		}()
		h := rec.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		// The deadline of a connection outlives its request, so every request sets its own. Streams move theirs.
		_ = http.NewResponseController(rec).SetWriteDeadline(time.Now().Add(s.cfg.RequestTimeout + s.cfg.WriteTimeout))
		ctx := context.WithValue(r.Context(), callerKey{}, callerOf(r))
		ctx = context.WithValue(ctx, nodeKey{}, r.Header.Get(NodeHeader))
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// sameSite refuses changes that a browser asks for on behalf of another site's page. Programs that are no browsers
// send neither Origin nor Sec-Fetch-Site and pass.
func (s *Server) sameSite(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := protection.Check(r); err != nil {
			writeProblem(w, http.StatusForbidden, fmt.Sprintf("a page of %s may not change anything here", r.Header.Get("Origin")))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// takeBody reads a request's body before its handler runs: bounded in size and time, and without leaving a read
// deadline behind that would cancel a handler which takes longer.
func (s *Server) takeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(s.cfg.RequestTimeout))
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		var large *http.MaxBytesError
		var timeout net.Error
		switch {
		case err == nil:
			_ = control.SetReadDeadline(time.Time{}) // else it stays, so that net/http does not wait for the rest either
			r.Body = io.NopCloser(bytes.NewReader(b))
			next.ServeHTTP(w, r)
		case errors.As(err, &large):
			writeProblem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", large.Limit))
		case errors.As(err, &timeout) && timeout.Timeout():
			writeProblem(w, http.StatusRequestTimeout, "the body did not arrive in time")
		default:
			writeProblem(w, http.StatusBadRequest, "the body did not arrive: "+err.Error())
		}
	})
}

type callerKey struct{}

// caller says on whose behalf a request is made, for records and logs. It is what the caller claims, not a proof.
func caller(ctx context.Context) string {
	by, _ := ctx.Value(callerKey{}).(string)
	return by
}

// ByHeader is the header in which a client says who its user is.
const ByHeader = "Rota-By"

const maxBy = 64

func callerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	by := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, r.Header.Get(ByHeader))
	switch {
	case by == "":
		return host
	case len(by) > maxBy:
		by = strings.ToValidUTF8(by[:maxBy], "")
	}
	return by + " from " + host
}

// NodeHeader is the header in which one node tells another for whom it takes it.
const NodeHeader = "Rota-Node"

type nodeKey struct{}

// MeantFor is the node that a request is meant for, which another one has passed on; "": whoever gets it.
func MeantFor(ctx context.Context) string {
	name, _ := ctx.Value(nodeKey{}).(string)
	return name
}
