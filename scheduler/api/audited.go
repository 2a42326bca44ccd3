package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// RequestHeader is the header with the id of a request. A client may choose the id. Every answer to a change has the header.
const RequestHeader = "X-Request-ID"

type originKey struct{}

// origin is what a client itself says about a request, before any proof.
type origin struct {
	remote, claimed, request string
}

func originOf(r *http.Request) origin {
	return origin{remote: hostOf(r), claimed: printable(r.Header.Get(ByHeader)), request: printable(r.Header.Get(RequestHeader))}
}

// authorOf returns the author of a request, for audit records.
func authorOf(ctx context.Context) job.Author {
	c := proven(ctx)
	from, _ := ctx.Value(originKey{}).(origin)
	by := job.Author{
		Principal: c.String(), How: string(cmp.Or(c.Method, auth.ByNothing)), Token: c.Token,
		Remote: from.remote, Request: from.request, Claimed: from.claimed,
	}
	if by.Claimed == by.Principal {
		by.Claimed = ""
	}
	return by
}

// audited returns a middleware that lets each change of an operation leave an audit record. All operations that change something
// pass it, so none can forget the record.
func (s *Server) audited(o operation) func(huma.Context, func(huma.Context)) {
	if s.back.Audited == nil || o.method == http.MethodGet {
		return func(ctx huma.Context, next func(huma.Context)) { next(ctx) }
	}
	return func(ctx huma.Context, next func(huma.Context)) {
		by := authorOf(ctx.Context())
		if o.id == deliverHook { // the handler verifies the signature before it changes anything
			by.Principal, by.How, by.Token = job.HookPrincipal(ctx.Param("hook")), string(auth.BySignature), ""
		}
		if by.Request == "" {
			by.Request = strings.ToLower(rand.Text()[:16])
		}
		ctx.SetHeader(RequestHeader, by.Request)
		next(huma.WithContext(ctx, s.back.Audited(ctx.Context(), by, o.id)))
	}
}
