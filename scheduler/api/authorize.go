package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Authenticator authenticates the callers of requests.
type Authenticator interface {
	// Authenticate returns the caller of a request. A request without a token or certificate has the anonymous caller. If the
	// token or certificate is invalid, it returns an error, which may be logged and must not be sent to the client. The error is
	// ErrUnavailable, auth.ErrStale or auth.ErrProvider if the proof cannot be checked at present.
	Authenticate(r *http.Request) (auth.Caller, error)
}

type provenKey struct{}

// proven returns the authenticated caller of a request, with its rights.
func proven(ctx context.Context) auth.Caller {
	c, _ := ctx.Value(provenKey{}).(auth.Caller)
	return c
}

type uncheckedKey struct{}

// unchecked reports whether the caller of a request is anonymous only because its proof cannot be checked at present.
func unchecked(ctx context.Context) bool {
	is, _ := ctx.Value(uncheckedKey{}).(bool)
	return is
}

type proofKey struct{}

// Proof returns the Authorization header with which a replica sends a request for the client to another process. It is a secret.
func Proof(ctx context.Context) string {
	text, _ := ctx.Value(proofKey{}).(func() string)
	if text == nil {
		return ""
	}
	return text()
}

// everybody is the caller of each request while authentication is off, or while refusals are only logged.
var everybody = auth.Caller{Grants: auth.Everything()}

// authenticate finds the caller of each request. The rights are checked later, where the operation is known, before its handler
// runs. But an anonymous caller is refused at once if the operation needs a right. Such refusals must cost as little as possible,
// because a stranger can send any number of requests.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, unchecked := everybody, false
		if user, ok := bySocket(r); ok && s.cfg.Auth != nil {
			c = user
		} else if s.cfg.Auth != nil {
			var err error
			if c, err = s.cfg.Auth.Authenticate(r); err != nil {
				s.logRefusal(r, "request with a wrong proof of identity", err)
				if errors.Is(err, auth.ErrOutdated) {
					w.Header().Set("Connection", "close") // the next connection may have a renewed certificate
				}
				c = auth.Caller{} // anonymous
				unchecked = errors.Is(err, ErrUnavailable) || errors.Is(err, auth.ErrStale) || errors.Is(err, auth.ErrProvider)
			}
			if c.Anonymous() && s.needsProof(r) {
				s.refuseStranger(w, r, unchecked)
				return
			}
		}
		ctx := context.WithValue(r.Context(), callerKey{}, callerOf(r))
		ctx = context.WithValue(ctx, originKey{}, originOf(r))
		ctx = context.WithValue(ctx, nodeKey{}, r.Header.Get(NodeHeader))
		ctx = context.WithValue(ctx, provenKey{}, c)
		ctx = context.WithValue(ctx, uncheckedKey{}, unchecked)
		ctx = context.WithValue(ctx, proofKey{}, func() string { return s.proofOf(r, c) })
		if !c.Anonymous() {
			ctx = context.WithValue(ctx, callerKey{}, byOf(r, c))
			ctx = context.WithValue(ctx, recheckKey{}, func() error { return s.recheck(r, c) })
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type (
	recheckKey struct{}
	unusedKey  struct{}
)

// IsRecheck reports whether a request is authenticated again only because its stream is still open. A session is not used by that.
func IsRecheck(ctx context.Context) bool { return ctx.Value(unusedKey{}) != nil }

// errOtherRights ends a stream. Its client connects again, and gets what it may see now.
var errOtherRights = errors.New("the rights of the caller have changed")

// recheck returns an error if the same request would now be refused, or have other rights than those of c, its caller.
func (s *Server) recheck(r *http.Request, c auth.Caller) error {
	if _, ok := bySocket(r); ok || s.cfg.Observe {
		return nil
	}
	now, err := s.cfg.Auth.Authenticate(r.WithContext(context.WithValue(r.Context(), unusedKey{}, true)))
	if err == nil && !reflect.DeepEqual(now, c) {
		return errOtherRights
	}
	return err
}

// byOf returns the name of a caller for records. An administrator may act for another user. Then that user is named first.
func byOf(r *http.Request, c auth.Caller) string {
	by := c.String()
	if claimed := r.Header.Get(ByHeader); claimed != "" && claimed != by && c.May(auth.Admin, auth.Object{}) {
		return callerOf(r) + " by " + by
	}
	r.Header.Set(ByHeader, by)
	return callerOf(r)
}

// authorized returns a middleware that runs an operation only if its caller has the right for it. If the caller cannot see the
// job, the answer is 404. Otherwise it is 401 for an anonymous caller, and 403 for any other.
func (s *Server) authorized(doc huma.API, o operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if o.peers && proven(ctx.Context()).May(auth.Peer, auth.Object{}) {
			next(ctx)
			return
		}
		status, detail := s.decide(ctx.Context(), o.right, ctx.Param("job"))
		if status == 0 || o.bodyDecides && proven(ctx.Context()).Any(o.right) {
			next(ctx)
			return
		}
		s.countRefusal(status)
		if status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", challenge)
		}
		_ = huma.WriteErr(doc, ctx, status, detail) // the client may be gone
	}
}

// challenge is the header WWW-Authenticate of a 401 answer. It tells a client how to authenticate.
const challenge = `Bearer realm="rota"`

// decide returns the status and the reason of a refusal; status 0 allows the request. name is the job of the request; empty if it
// has none.
func (s *Server) decide(ctx context.Context, right auth.Right, name string) (status int, detail string) {
	return s.decideOn(ctx, right, s.object(name))
}

// object returns a job with its labels, as scopes of roles have them. An empty name stands for the whole cluster. Runs of commands
// without a job belong to the whole cluster too.
func (s *Server) object(name string) auth.Object {
	on := auth.Object{Job: name, Whole: name == job.AdHoc}
	if name != "" && s.back.Labels != nil {
		on.Labels = s.back.Labels(name)
	}
	return on
}

// decideOn is decide for an object.
func (s *Server) decideOn(ctx context.Context, right auth.Right, on auth.Object) (status int, detail string) {
	c, name := proven(ctx), on.Job
	allowed := c.May(right, on)
	if right == auth.Read && name == "" {
		allowed = c.Any(right) // a list: the caller gets only the items that it may read
	}
	switch {
	case allowed:
		return 0, ""
	case s.cfg.Observe:
		s.log.Info("request would be refused", "principal", c.String(), "right", string(right), "job", name)
		return 0, ""
	case c.Anonymous():
		return http.StatusUnauthorized, whoAreYou
	case name != "" && !c.Sees(on):
		return http.StatusNotFound, fmt.Sprintf("there is no job %q", name)
	}
	return http.StatusForbidden, fmt.Sprintf("%s lacks the right %q here", c, right)
}

// require returns an error if the caller of a request lacks a right over a job.
func (s *Server) require(ctx context.Context, right auth.Right, name string) error {
	if status, detail := s.decide(ctx, right, name); status != 0 {
		s.countRefusal(status)
		return huma.NewError(status, detail)
	}
	return nil
}

// sees returns a function that reports whether the caller of a request may see a job; nil if the caller may see all jobs.
func (s *Server) sees(ctx context.Context) func(name string) bool {
	c := proven(ctx)
	if s.cfg.Observe || c.All(auth.Read) {
		return nil
	}
	return func(name string) bool { return c.Sees(s.object(name)) }
}

type visibleKey struct{}

// Visible returns a function that reports whether the client of a change may see a job; nil if it may see all jobs. A Backend
// refuses other jobs as if they did not exist, and names none of them.
func Visible(ctx context.Context) func(name string) bool {
	sees, _ := ctx.Value(visibleKey{}).(func(name string) bool)
	return sees
}

// withVisible returns a context from which Visible gets what the client may see.
func (s *Server) withVisible(ctx context.Context) context.Context {
	if sees := s.sees(ctx); sees != nil {
		return context.WithValue(ctx, visibleKey{}, sees)
	}
	return ctx
}
