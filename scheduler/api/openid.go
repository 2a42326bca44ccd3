package api

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// OpenID signs browsers in by an OpenID provider, with the code flow and PKCE. The browser keeps the SignIn between the two steps,
// so any replica can do the second one.
type OpenID interface {
	// Begin begins a sign-in, from which the provider leads the browser to the address redirect. It returns the address at the
	// provider. The error is auth.ErrProvider.
	Begin(ctx context.Context, redirect string) (in SignIn, address string, err error)
	// End returns the caller that the provider has proven. code is what the browser brought back. If the provider does not answer,
	// the error is auth.ErrProvider.
	End(ctx context.Context, in SignIn, redirect, code string) (auth.Caller, error)
	// Client returns what programs need to sign in by the provider themselves.
	Client() OpenIDClient
}

// SignIn has the secrets of one sign-in.
type SignIn struct {
	State    string `json:"state"`    // comes back with the code
	Nonce    string `json:"nonce"`    // comes back in the token
	Verifier string `json:"verifier"` // of PKCE
	Next     string `json:"next"`     // path of the page that the browser wants to see
}

// The paths of a sign-in by the provider. The second one is registered at the provider.
const (
	openIDPath   = "/login/oidc"
	callbackPath = "/login/callback"
)

// The cookies of a sign-in that has begun, with and without TLS, and their life in seconds. The name of a cookie ends with the
// first character of the state, so that two tabs can sign in at the same time.
const (
	secureSignIn = "__Host-rota-login"
	plainSignIn  = "rota-login"
	signInLife   = 600
	maxNext      = 1 << 10 // bytes of the page to go back to: browsers drop a cookie of more than 4 KiB
)

// signInCookie returns the name of the cookie of a sign-in with a state.
func signInCookie(r *http.Request, state string) string {
	slot := ""
	if state != "" && strings.Trim(state[:1], stateCharacters) == "" {
		slot = "-" + state[:1]
	}
	if r.TLS != nil {
		return secureSignIn + slot
	}
	return plainSignIn + slot
}

// stateCharacters can begin a state.
const stateCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// publicScheme returns the scheme that the browser uses. Behind a proxy, only the proxy knows that the browser uses TLS.
func publicScheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https"
	}
	return "http"
}

// callbackOf returns the address to which the provider leads the browser back: this server, under the name that the browser uses.
func callbackOf(r *http.Request) string { return publicScheme(r) + "://" + r.Host + callbackPath }

// beginOpenID leads the browser to the provider.
func (s *Server) beginOpenID(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.FormValue("next"))
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	in, address, err := s.cfg.OpenID.Begin(r.Context(), callbackOf(r))
	if err != nil {
		s.refuseOpenID(w, r, next, err)
		return
	}
	if in.Next = next; len(next) > maxNext {
		in.Next = "/"
	}
	text, err := json.Marshal(in)
	if err != nil {
		s.refuseOpenID(w, r, next, err)
		return
	}
	// The browser sends the cookie when the provider leads back here.
	setCookie(w, r, signInCookie(r, in.State), base64.RawURLEncoding.EncodeToString(text), signInLife)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// endOpenID begins the session of a browser that comes back from the provider.
func (s *Server) endOpenID(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	state := query.Get("state")
	in, ok := signInOf(r, state)
	setCookie(w, r, signInCookie(r, state), "", 0) // it can be used once
	if !ok || state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(in.State)) != 1 {
		s.refuseOpenID(w, r, "/", auth.ErrState)
		return
	}
	next := localPath(in.Next)
	if reason := query.Get("error"); reason != "" {
		s.refuseOpenID(w, r, next, fmt.Errorf("%w: %.200q", auth.ErrRefused, reason))
		return
	}
	c, err := s.cfg.OpenID.End(r.Context(), in, callbackOf(r), query.Get("code"))
	if err != nil {
		s.refuseOpenID(w, r, next, err)
		return
	}
	if !s.cfg.Observe && !c.Any(auth.Read) {
		s.log.Warn("login refused: the principal has no role", "principal", c.String(), "remote", r.RemoteAddr)
		problem := c.String() + " has no role here. Ask an administrator of rota."
		s.showLogin(w, http.StatusForbidden, loginView{Next: next, Problem: problem})
		return
	}
	s.signIn(w, r, next, c)
}

// signInOf returns the sign-in with a state that a browser has begun; ok is false without a valid one.
func signInOf(r *http.Request, state string) (in SignIn, ok bool) {
	cookie, err := r.Cookie(signInCookie(r, state))
	if err != nil {
		return in, false
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(text, &in) != nil {
		return SignIn{}, false
	}
	return in, in.State != "" && in.Nonce != "" && in.Verifier != ""
}

// refuseOpenID shows why a sign-in by the provider failed. The form for a token stays usable.
func (s *Server) refuseOpenID(w http.ResponseWriter, r *http.Request, next string, err error) {
	status, problem := http.StatusUnauthorized, "The answer of your organization is not valid here. The log of rota says why."
	switch {
	case errors.Is(err, auth.ErrProvider):
		status, problem = http.StatusServiceUnavailable, "Your organization's sign-in does not answer. Try again, or use a token."
	case errors.Is(err, auth.ErrState):
		problem = "This sign-in was not begun in this browser, or it took too long. Begin again."
	case errors.Is(err, auth.ErrNonce):
		problem = "The answer of your organization belongs to another sign-in. Begin again."
	case errors.Is(err, auth.ErrRefused):
		problem = "Your organization refused the sign-in."
	}
	s.logRefusal(r, "login by openid failed", err)
	s.showLogin(w, status, loginView{Next: next, Problem: problem})
}

// OpenIDClient is what a program needs to sign in by the provider.
type OpenIDClient struct {
	Issuer   string   `json:"issuer" doc:"URL of the OpenID provider" example:"https://login.example.com"`
	ClientID string   `json:"client_id" doc:"Client that programs use, which has no secret" example:"rota-cli"`
	Scopes   []string `json:"scopes" doc:"Scopes to ask for"`
}

// SignInView is the answer to GET /v1/login.
type SignInView struct {
	Principal  string         `json:"principal,omitempty" doc:"The proven sender of this request; absent: anonymous"`
	Method     string         `json:"method,omitempty" doc:"Its proof: token, certificate, session, oidc or socket" example:"token"`
	Groups     []string       `json:"groups,omitempty" doc:"The groups of the principal"`
	Roles      []auth.Binding `json:"roles,omitempty" doc:"The roles of the principal and its groups, with their scopes"`
	Everything bool           `json:"everything,omitempty" doc:"Everybody may do everything: authentication is off or only observes"`
	OpenID     *OpenIDClient  `json:"oidc,omitempty" doc:"The OpenID provider; absent: there is none"`
}

func (s *Server) registerSignIn(doc huma.API) {
	register(s, doc, operation{
		id: "read-login", right: auth.Anyone, method: "GET", path: "/v1/login",
		summary: "The principal of this request with its roles, and how a program signs in",
	}, func(ctx context.Context, _ *struct{}) (*body[SignInView], error) {
		c := proven(ctx)
		v := SignInView{
			Principal: c.Principal, Method: string(c.Method), Groups: c.Groups,
			Roles: c.Roles(), Everything: s.cfg.Observe || c.Everything(),
		}
		if s.cfg.OpenID != nil {
			client := s.cfg.OpenID.Client()
			v.OpenID = &client
		}
		return &body[SignInView]{v}, nil
	})
}
