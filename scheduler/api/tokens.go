package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Tokens changes the tokens in the store. It returns job.ErrNotFound for an unknown token.
type Tokens interface {
	// Tokens returns all tokens in the store, in the order of their ids.
	Tokens(ctx context.Context) ([]auth.Token, error)
	// CreateToken returns job.ErrConflict if there is a token with this id.
	CreateToken(ctx context.Context, t auth.Token) error
	// RotateToken creates a token with the rights of the token id, and with the id and the hash of next. The old token is valid
	// for a while longer.
	RotateToken(ctx context.Context, id string, next auth.Token, overlap time.Duration) (auth.Token, error)
	RevokeToken(ctx context.Context, id string) error
}

// TokenOverlap is how long a token stays valid after it was rotated.
const TokenOverlap = 24 * time.Hour

// CreateTokenRequest is the body of POST /v1/tokens. The client makes the secret and sends only its hash.
type CreateTokenRequest struct {
	ID        string    `json:"id" pattern:"^[a-z2-9]{12}$" doc:"The part of the token that is no secret" example:"k3j2h8w4q9xz"`
	Hash      string    `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the secret, in hexadecimal"`
	Principal string    `json:"principal" minLength:"1" maxLength:"128" pattern:"^[^/\\x00-\\x1f]+$" doc:"Whom the token proves"`
	Groups    []string  `json:"groups,omitempty" doc:"Groups of the principal"`
	Role      auth.Role `json:"role,omitempty" doc:"viewer, operator, author, author-command or admin, besides the roles of bindings"`
	Jobs      []string  `json:"jobs,omitempty" doc:"Patterns of the jobs that the role is for; none: the whole cluster"`
	Life      string    `json:"life,omitempty" doc:"How long the token is valid, for example 90d; empty: without end" example:"90d"`
	Note      string    `json:"note,omitempty" maxLength:"500" doc:"The purpose of the token"`
}

// RotateTokenRequest is the body of POST /v1/tokens/{token}/rotate.
type RotateTokenRequest struct {
	ID   string `json:"id" pattern:"^[a-z2-9]{12}$" doc:"The part of the new token that is no secret"`
	Hash string `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the new secret, in hexadecimal"`
}

// TokenView is a token in the form of the API, without the hash of its secret.
type TokenView struct {
	ID        string    `json:"id"`
	Principal string    `json:"principal"`
	Groups    []string  `json:"groups,omitempty"`
	Role      auth.Role `json:"role,omitempty"`
	Jobs      []string  `json:"jobs,omitempty"`
	Created   time.Time `json:"created"`
	By        string    `json:"by,omitempty" doc:"The client that created it"`
	Expires   time.Time `json:"expires,omitzero" doc:"Absent if it is valid without end"`
	Note      string    `json:"note,omitempty"`
}

// TokenList is the body of the list of tokens.
type TokenList struct {
	Tokens []TokenView `json:"tokens"`
}

// newTokenView returns the view of t.
func newTokenView(t auth.Token) TokenView {
	return TokenView{
		ID: t.ID, Principal: t.Principal, Groups: t.Groups, Role: t.Role, Jobs: t.Jobs, Created: t.Created, By: t.By,
		Expires: t.Expires, Note: t.Note,
	}
}

func (s *Server) registerTokens(doc huma.API) {
	if s.back.Tokens == nil {
		return
	}
	register(s, doc, operation{
		id: "list-tokens", right: auth.Admin, method: "GET", path: "/v1/tokens",
		summary: "The tokens in the store, without those of auth.file",
	}, s.listTokens)
	register(s, doc, operation{
		id: "create-token", right: auth.Admin, method: "POST", path: "/v1/tokens",
		summary: "Store a token", status: 201, errors: []int{409, 507},
	}, s.createToken)
	register(s, doc, operation{
		id: "rotate-token", right: auth.Admin, method: "POST", path: "/v1/tokens/{token}/rotate",
		summary: "Store a second token with the same rights; the first is valid for 24 hours longer", status: 201,
		errors: []int{404, 409, 507},
	}, s.rotateToken)
	register(s, doc, operation{
		id: "revoke-token", right: auth.Admin, method: "DELETE", path: "/v1/tokens/{token}",
		summary: "Revoke a token", status: 204, errors: []int{404, 409},
	}, s.revokeToken)
}

func (s *Server) listTokens(ctx context.Context, _ *struct{}) (*body[TokenList], error) {
	all, err := s.back.Tokens.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]TokenView, len(all))
	for i, t := range all {
		views[i] = newTokenView(t)
	}
	return &body[TokenList]{TokenList{views}}, nil
}

func (s *Server) createToken(ctx context.Context, in *struct{ Body CreateTokenRequest }) (*body[TokenView], error) {
	r := &in.Body
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	if r.Role != "" && !slices.Contains(auth.Roles(), r.Role) {
		return nil, invalid("body.role", "%q is no role: use %s", r.Role, joined(auth.Roles()))
	}
	for _, pattern := range r.Jobs {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, invalid("body.jobs", "%q is no pattern of job names", pattern)
		}
	}
	t := auth.Token{
		ID: r.ID, Hash: r.Hash, Principal: r.Principal, Groups: r.Groups, Role: r.Role, Jobs: r.Jobs, Note: r.Note,
		Created: now.Truncate(time.Second), By: caller(ctx),
	}
	if r.Life != "" {
		d, err := job.ParseSpan(r.Life)
		if err != nil || d <= 0 {
			return nil, invalid("body.life", "%q is not a time span: write it with a unit, for example 90d", r.Life)
		}
		t.Expires = t.Created.Add(d)
	}
	if err := s.back.Tokens.CreateToken(ctx, t); err != nil {
		return nil, tokenError(r.ID, err)
	}
	return &body[TokenView]{newTokenView(t)}, nil
}

func (s *Server) rotateToken(ctx context.Context, in *struct {
	Token string `path:"token"`
	Body  RotateTokenRequest
}) (*body[TokenView], error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	next := auth.Token{ID: in.Body.ID, Hash: in.Body.Hash, Created: now.Truncate(time.Second), By: caller(ctx)}
	made, err := s.back.Tokens.RotateToken(ctx, in.Token, next, TokenOverlap)
	if err != nil {
		return nil, tokenError(in.Token, err)
	}
	return &body[TokenView]{newTokenView(made)}, nil
}

func (s *Server) revokeToken(ctx context.Context, in *struct {
	Token string `path:"token"`
}) (*struct{}, error) {
	return nil, tokenError(in.Token, s.back.Tokens.RevokeToken(ctx, in.Token))
}

// tokenError returns the answer to a change of a token that failed with err; nil if err is nil.
func tokenError(id string, err error) error {
	switch {
	case errors.Is(err, job.ErrNotFound):
		return huma.NewError(http.StatusNotFound, fmt.Sprintf("there is no token %q in the store", id))
	case errors.Is(err, job.ErrConflict):
		return huma.NewError(http.StatusConflict, fmt.Sprintf("token %q exists, or was changed meanwhile", id))
	}
	return err
}
