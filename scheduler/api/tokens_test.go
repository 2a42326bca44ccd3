package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (f *fake) Tokens(context.Context) ([]auth.Token, error) { return f.tokens, f.fail() }

func (f *fake) CreateToken(_ context.Context, t auth.Token) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.tokens {
		if known.ID == t.ID {
			return job.ErrConflict
		}
	}
	f.tokens = append(f.tokens, t)
	return f.fail()
}

func (f *fake) RotateToken(_ context.Context, id string, next auth.Token, overlap time.Duration) (auth.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, known := range f.tokens {
		if known.ID == id {
			f.tokens[i], next = known.Rotate(next, overlap)
			f.tokens = append(f.tokens, next)
			return next, f.fail()
		}
	}
	return auth.Token{}, job.ErrNotFound
}

func (f *fake) RevokeToken(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, known := range f.tokens {
		if known.ID == id {
			f.tokens = append(f.tokens[:i], f.tokens[i+1:]...)
			return f.fail()
		}
	}
	return job.ErrNotFound
}

func TestTokensAreCreatedRotatedAndRevoked(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	a := ask(t, srv, "POST", "/v1/tokens", newToken)
	v := decode[api.TokenView](t, a)
	if a.status != 201 || v.Principal != "ci" || v.Role != auth.Viewer || v.Expires.Sub(v.Created) != 90*24*time.Hour || v.By != "127.0.0.1" {
		t.Errorf("created: %d %+v", a.status, v)
	}
	if a := ask(t, srv, "POST", "/v1/tokens", newToken); a.status != 409 {
		t.Errorf("created twice: got %d %s", a.status, a.text)
	}
	second := strings.Replace(newSecret, "ddddeeeeffff", "gggghhhhjjjj", 1)
	a = ask(t, srv, "POST", "/v1/tokens/ddddeeeeffff/rotate", second)
	rotated := decode[api.TokenView](t, a)
	if a.status != 201 || rotated.ID != "gggghhhhjjjj" || rotated.Role != auth.Viewer || rotated.Expires.Sub(rotated.Created) != 90*24*time.Hour {
		t.Errorf("rotated: %d %+v", a.status, rotated)
	}
	a = ask(t, srv, "GET", "/v1/tokens", "")
	l := decode[api.TokenList](t, a)
	if len(l.Tokens) != 2 || l.Tokens[0].Expires.Sub(rotated.Created) != api.TokenOverlap || strings.Contains(a.text, "9f86d081") {
		t.Errorf("list: %s", a.text)
	}
	if a := ask(t, srv, "DELETE", "/v1/tokens/ddddeeeeffff", ""); a.status != 204 {
		t.Errorf("revoked: got %d %s", a.status, a.text)
	}
	for path, method := range map[string]string{"/v1/tokens/ddddeeeeffff": "DELETE", "/v1/tokens/none/rotate": "POST"} {
		if a := ask(t, srv, method, path, newSecret); a.status != 404 || !strings.Contains(a.text, "there is no token") {
			t.Errorf("%s %s: got %d %s", method, path, a.status, a.text)
		}
	}
	for what, body := range map[string]string{
		"a role that does not exist": strings.Replace(newToken, "viewer", "root", 1),
		"no hash":                    strings.Replace(newToken, "9f86", "xyz", 1),
		"a life that is no span":     strings.Replace(newToken, "90d", "soon", 1),
		"a life of nothing":          strings.Replace(newToken, "90d", "0s", 1),
		"a process as the principal": strings.Replace(newToken, `"ci"`, `"replica/q1"`, 1),
		"an unknown field":           strings.Replace(newToken, "life", "lives", 1),
		"a pattern that is none":     strings.Replace(newToken, `"life"`, `"jobs":["["],"life"`, 1),
	} {
		if a := ask(t, srv, "POST", "/v1/tokens", body); a.status != 422 {
			t.Errorf("%s: got %d %s", what, a.status, a.text)
		}
	}
}
