package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Sessions signs browsers in and out. An Authenticator accepts the keys that it returns; see SessionOf.
type Sessions interface {
	// ByToken returns the caller that a token proves.
	ByToken(ctx context.Context, token string) (auth.Caller, error)
	// SignIn begins a session of a caller.
	SignIn(ctx context.Context, c auth.Caller) (auth.Key, error)
	// Code returns a code with which a browser can begin one session of a caller.
	Code(ctx context.Context, c auth.Caller) (auth.Key, error)
	// Redeem begins a session by a code. The error is auth.ErrCode if the code is not valid.
	Redeem(ctx context.Context, code auth.Key) (auth.Key, error)
	// SignOut ends a session. The key need not belong to one.
	SignOut(ctx context.Context, key auth.Key) error
}

// The cookies of a session. A browser accepts the first only from this very host, over TLS.
const (
	secureCookie = "__Host-rota"
	plainCookie  = "rota-session"
)

// SessionScheme begins the Authorization header with which a replica forwards the session of a browser to another process.
const SessionScheme = "Rota-Session "

// SessionOf returns the key of the session that a request presents; empty if it presents none.
func SessionOf(r *http.Request) auth.Key {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), SessionScheme); ok {
		return auth.Key(key)
	}
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return auth.Key(cookie.Value)
}

func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return secureCookie
	}
	return plainCookie
}

// setSession gives the browser the cookie of a session; the empty key removes it. The cookie has no age: the browser forgets it
// when it closes, and the store when the session expires.
func setSession(w http.ResponseWriter, r *http.Request, key auth.Key) {
	setCookie(w, r, cookieName(r), string(key), 0)
}

// setCookie gives the browser a cookie for an age in seconds; 0 stands for no age. The empty value removes the cookie. A page of
// another site cannot read it.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: age,
		Secure: publicScheme(r) == "https",
	})
}

// proofOf returns what a replica sends to another process to prove the caller of a request: its token, or its session. A caller on
// a Unix socket gets a session for this.
func (s *Server) proofOf(r *http.Request, c auth.Caller) string {
	if header := r.Header.Get("Authorization"); header != "" {
		return header
	}
	key := SessionOf(r)
	switch {
	case c.Method == auth.BySession:
	case c.Method == auth.BySocket && s.cfg.Sessions != nil:
		valid := func(key auth.Key) bool {
			shown := &http.Request{Header: http.Header{"Authorization": {SessionScheme + string(key)}}}
			_, err := s.cfg.Auth.Authenticate(shown.WithContext(r.Context())) // an administrator may have ended it
			return !errors.Is(err, auth.ErrSession) && !errors.Is(err, auth.ErrSessionExpired)
		}
		var err error
		if key, err = s.forwarded.key(r.Context(), c, s.cfg.Sessions, valid); err != nil {
			s.log.Warn("no session for a request to another process", "err", err)
			return ""
		}
	default:
		return ""
	}
	return SessionScheme + string(key)
}

// forwarded has the sessions with which requests of a Unix socket are forwarded. Each is a record of the store, so requests share
// it until it ends.
type forwarded struct {
	mu       sync.Mutex
	sessions map[string]auth.Key // guarded by mu: by principal, of which a socket has two
}

// key returns the key of a session of a caller. It begins one if there is none that is valid.
func (f *forwarded) key(ctx context.Context, c auth.Caller, from Sessions, valid func(auth.Key) bool) (auth.Key, error) {
	f.mu.Lock()
	recent, ok := f.sessions[c.Principal]
	f.mu.Unlock()
	if ok && valid(recent) {
		return recent, nil
	}
	key, err := from.SignIn(ctx, c)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[c.Principal] = key
	return key, nil
}

// LoginCode is the answer to POST /v1/login-codes.
type LoginCode struct {
	Path string `json:"path" doc:"Path of this server that signs a browser in, once and within five minutes" example:"/login?code=0"`
}

func (s *Server) registerLoginCodes(doc huma.API) {
	register(s, doc, operation{
		id: "create-login-code", right: auth.Read, method: "POST", path: "/v1/login-codes",
		summary: "A path that signs a browser in once", status: http.StatusCreated, errors: []int{429},
	}, func(ctx context.Context, _ *struct{}) (*body[LoginCode], error) {
		c := proven(ctx)
		if s.cfg.Sessions == nil || c.Anonymous() { // nobody needs to sign in
			return &body[LoginCode]{LoginCode{Path: "/"}}, nil
		}
		if wait := s.signIns.wait(c.Principal); wait > 0 {
			s.refused(RefusedRate)
			return nil, again(huma.Error429TooManyRequests(fmt.Sprintf("%s signs in too often", c)), seconds(wait))
		}
		code, err := s.cfg.Sessions.Code(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%w: the store did not accept the code: %w", ErrUnavailable, err)
		}
		return &body[LoginCode]{LoginCode{Path: loginPath + "?code=" + string(code)}}, nil
	})
}
