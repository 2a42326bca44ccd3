package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode"
)

// recorder records the status of a response, and whether a Write failed. http.ResponseController unwraps it.
type recorder struct {
	http.ResponseWriter
	status int           // 0 until the header is written
	failed error         // error of the first Write that failed, because the client is gone
	person *http.Request // the request, if a person sees its answer in a browser; nil for a program
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

// recoverPanics recovers a panic of a handler, so that only its own request fails. It also logs each request.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.inFlight.Add(1)
		defer s.inFlight.Done()
		began := s.now()
		rec := &recorder{ResponseWriter: w}
		if isPerson(r) {
			rec.person = r
		}
		defer func() {
			p := recover()
			if s.log.IsDebug() { // the arguments of a line cost more than a refusal
				s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
					"took", s.now().Sub(began).String(), "remote", r.RemoteAddr)
			}
			switch {
			case p == nil:
			case isAbort(p) || rec.failed != nil:
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
		// The deadline of a connection stays after a request, so every request sets a new one. Streams extend it.
		next.ServeHTTP(rec, s.extensible(rec, r))
	})
}

// isAbort reports whether a panic is the one with which net/http ends a connection.
func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// sameSite refuses changes that come from a page of another site. Programs other than browsers send neither Origin nor
// Sec-Fetch-Site, so they pass.
func (s *Server) sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := crossOrigin.Check(r); err != nil {
			s.refused(RefusedOrigin)
			site := cmp.Or(r.Header.Get("Origin"), "another site")
			detail := fmt.Sprintf("a page of %s may not change anything here", site)
			if r.Header.Get("Sec-Fetch-Site") == "" { // the browser did not say it: the name of this server differs from that of its page
				detail += fmt.Sprintf(", at %q: a proxy must send the Host of the browser, with the port", r.Host)
			}
			writeProblem(w, http.StatusForbidden, detail)
			return
		}
		next.ServeHTTP(w, r)
	})
}

type callerKey struct{}

// caller returns the name of the client of a request, for records and logs. The client itself sent the name, so it is no proof.
func caller(ctx context.Context) string {
	by, _ := ctx.Value(callerKey{}).(string)
	return by
}

// ByHeader is the header in which a client names its user.
const ByHeader = "Rota-By"

const maxBy = 64

func callerOf(r *http.Request) string {
	host, by := hostOf(r), printable(r.Header.Get(ByHeader))
	if by == "" {
		return host
	}
	return by + " from " + host
}

// hostOf returns the address of a client without its port.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// printable returns the printable characters of a header, at most maxBy bytes.
func printable(text string) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
	if len(text) > maxBy {
		text = strings.ToValidUTF8(text[:maxBy], "")
	}
	return text
}

// NodeHeader is the header in which a node names the node that should answer its request.
const NodeHeader = "Rota-Node"

type nodeKey struct{}

// MeantFor returns the node that should answer a request of another node; empty for any node.
func MeantFor(ctx context.Context) string {
	name, _ := ctx.Value(nodeKey{}).(string)
	return name
}
