package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// organization is an OpenID provider that proves bob with the code "good".
type organization struct {
	redirects []string
	states    []string // of the next sign-ins; empty: s
	down      bool
}

func (o *organization) Begin(_ context.Context, redirect string) (api.SignIn, string, error) {
	o.redirects = append(o.redirects, redirect)
	if o.down {
		return api.SignIn{}, "", auth.ErrProvider
	}
	state := "s"
	if len(o.states) > 0 {
		state, o.states = o.states[0], o.states[1:]
	}
	return api.SignIn{State: state, Nonce: "n", Verifier: "v"}, "https://login.example/authorize?state=" + state, nil
}

func (o *organization) End(_ context.Context, in api.SignIn, redirect, code string) (auth.Caller, error) {
	o.redirects = append(o.redirects, redirect)
	if code != "good" || in.Nonce != "n" || in.Verifier != "v" {
		return auth.Caller{}, auth.ErrNonce
	}
	who := auth.Identity{Principal: "bob", Method: auth.ByOIDC}
	return auth.Caller{Identity: who, Grants: auth.GrantsOf(who, []auth.Binding{{Principal: "bob", Role: auth.Viewer}}, nil)}, nil
}

func (o *organization) Client() api.OpenIDClient {
	return api.OpenIDClient{Issuer: "https://login.example", ClientID: "cli", Scopes: []string{"openid"}}
}

func TestABrowserSignsInByOpenID(t *testing.T) {
	d, o := newDoorman(), &organization{}
	cfg := api.DefaultConfig()
	cfg.Auth, cfg.Sessions, cfg.OpenID = d, d, o
	server := httptest.NewTLSServer(api.New(cfg, guarded().backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(server.Close)
	// visit makes one request of a browser with cookies, which follows no redirect.
	visit := func(path string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			req.AddCookie(c)
		}
		res, err := server.Client().Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	begun := visit("/login/oidc?next=" + url.QueryEscape("/jobs/a?x=1"))
	if begun.StatusCode != http.StatusSeeOther || !strings.HasPrefix(begun.Header.Get("Location"), "https://login.example/") || len(begun.Cookies()) != 1 {
		t.Fatalf("the beginning: got %d, %v", begun.StatusCode, begun.Header)
	}
	kept := begun.Cookies()[0]
	if kept.Name != "__Host-rota-login" || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteLaxMode || kept.Path != "/" || kept.MaxAge > 600 {
		t.Errorf("the cookie of a sign-in: got %+v", kept)
	}
	for name, c := range map[string]struct {
		query   string
		cookies []*http.Cookie
	}{
		"without the cookie":      {"?code=good&state=s", nil},
		"with another state":      {"?code=good&state=t", []*http.Cookie{kept}},
		"without a state":         {"?code=good", []*http.Cookie{kept}},
		"with a cookie of no use": {"?code=good&state=", []*http.Cookie{{Name: kept.Name, Value: "e30"}}},
		"with another code":       {"?code=bad&state=s", []*http.Cookie{kept}},
		"with a refusal":          {"?error=access_denied&state=s", []*http.Cookie{kept}},
	} {
		res := visit("/login/callback"+c.query, c.cookies...)
		if res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 1 || res.Cookies()[0].MaxAge >= 0 {
			t.Errorf("%s: got %d, %v, want 401 and the end of the sign-in", name, res.StatusCode, res.Cookies())
		}
	}
	ended := visit("/login/callback?code=good&state=s", kept)
	if ended.StatusCode != http.StatusSeeOther || ended.Header.Get("Location") != "/jobs/a?x=1" || len(ended.Cookies()) != 2 {
		t.Fatalf("the end: got %d, %v", ended.StatusCode, ended.Header)
	}
	session := ended.Cookies()[1]
	if session.Name != "__Host-rota" || !session.HttpOnly || !session.Secure || session.SameSite != http.SameSiteLaxMode || session.Path != "/" {
		t.Errorf("the cookie of the session: got %+v", session)
	}
	for _, to := range o.redirects {
		if to != server.URL+"/login/callback" {
			t.Errorf("the provider leads back to %s", to)
		}
	}
	for _, next := range []string{"https://evil.example/", "//evil.example", "/login/oidc", "/login/callback?code=good"} {
		begun := visit("/login/oidc?next=" + url.QueryEscape(next))
		if to := visit("/login/callback?code=good&state=s", begun.Cookies()...).Header.Get("Location"); to != "/" {
			t.Errorf("a sign-in for %s leads to %s, want /", next, to)
		}
	}
	o.down = true
	if res := visit("/login/oidc"); res.StatusCode != http.StatusServiceUnavailable || len(res.Cookies()) != 0 {
		t.Errorf("without the provider: got %d, %v", res.StatusCode, res.Cookies())
	}
}

func TestAProgramLearnsHowToSignIn(t *testing.T) {
	d, o := newDoorman(), &organization{}
	token := d.give(t, auth.Viewer)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions, c.OpenID = d, d, o })
	for bearer, want := range map[string]string{"": `"client_id":"cli"`, token: `"method":"token"`} {
		headers := []string{}
		if bearer != "" {
			headers = append(headers, "Authorization", "Bearer "+bearer)
		}
		if a := ask(t, srv, "GET", "/v1/login", "", headers...); a.status != http.StatusOK || !strings.Contains(a.text, want) {
			t.Errorf("with the token %q: got %d, %s, want %s", bearer, a.status, a.text, want)
		}
	}
}

// A caller learns its own roles, and nobody else's.
func TestACallerLearnsItsRoles(t *testing.T) {
	b := &bearer{}
	token := b.give(t, auth.Operator, "in-*")
	b.give(t, auth.Administrator)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	v := decode[api.SignInView](t, ask(t, srv, "GET", "/v1/login", "", "Authorization", "Bearer "+token))
	want := []auth.Binding{{Principal: "p-operator", Role: auth.Operator, Jobs: []string{"in-*"}}}
	if v.Principal != "p-operator" || v.Everything || !reflect.DeepEqual(v.Roles, want) {
		t.Errorf("got %+v, want %+v", v, want)
	}
	if v := decode[api.SignInView](t, ask(t, srv, "GET", "/v1/login", "")); v.Principal != "" || v.Everything || v.Roles != nil {
		t.Errorf("without a token: got %+v", v)
	}
	open := serve(t, guarded().backend())
	if v := decode[api.SignInView](t, ask(t, open, "GET", "/v1/login", "")); !v.Everything {
		t.Errorf("without authentication: got %+v", v)
	}
}

func TestTwoTabsSignIn(t *testing.T) {
	d, o := newDoorman(), &organization{states: []string{"ABC", "DEF", "G"}}
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions, c.OpenID = d, d, o })
	jar := map[string]string{} // the cookies of the browser
	visit := func(path string) *http.Response {
		t.Helper()
		var cookies []string
		for name, value := range jar {
			cookies = append(cookies, name+"="+value)
		}
		res := browse(t, "GET", srv.URL+path, nil, "Cookie", strings.Join(cookies, "; "))
		for _, c := range res.Cookies() {
			if jar[c.Name] = c.Value; c.MaxAge < 0 {
				delete(jar, c.Name)
			}
		}
		return res
	}
	visit("/login/oidc?next=/a")
	visit("/login/oidc?next=/b")
	for state, next := range map[string]string{"ABC": "/a", "DEF": "/b"} {
		if res := visit("/login/callback?code=good&state=" + state); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != next {
			t.Errorf("the tab of %s: got %d, %v", next, res.StatusCode, res.Header)
		}
	}
	if len(jar) != 1 {
		t.Errorf("after the sign-ins, the browser has the cookies %v", jar)
	}
	if visit("/login/oidc?next=/" + strings.Repeat("x", 5000)); len(jar["rota-login-G"]) > 2000 {
		t.Errorf("a browser drops the cookie of a sign-in for a long path: it has %d bytes", len(jar["rota-login-G"]))
	}
}
