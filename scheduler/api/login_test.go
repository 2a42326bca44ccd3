package api_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// doorman keeps sessions in memory.
type doorman struct {
	bearer

	mu       sync.Mutex
	sessions map[auth.Key]auth.Session
	codes    map[auth.Key]auth.Session
}

func newDoorman() *doorman {
	return &doorman{sessions: map[auth.Key]auth.Session{}, codes: map[auth.Key]auth.Session{}}
}

func (d *doorman) Authenticate(r *http.Request) (auth.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.sessions[api.SessionOf(r)]; ok {
		return d.BySession(&s, time.Now())
	}
	return d.bearer.Authenticate(r)
}

func (d *doorman) ByToken(_ context.Context, text string) (auth.Caller, error) {
	return d.bearer.ByToken(text, time.Now())
}

func (d *doorman) put(to map[auth.Key]auth.Session, s auth.Session) (auth.Key, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key, err := auth.NewKey(rand.Reader)
	to[key] = s
	return key, err
}

func (d *doorman) SignIn(_ context.Context, c auth.Caller) (auth.Key, error) {
	return d.put(d.sessions, auth.NewSession(c, time.Now(), auth.SessionLife))
}

func (d *doorman) Code(_ context.Context, c auth.Caller) (auth.Key, error) {
	return d.put(d.codes, auth.NewSession(c, time.Now(), auth.CodeLife))
}

func (d *doorman) Redeem(_ context.Context, code auth.Key) (auth.Key, error) {
	d.mu.Lock()
	s, ok := d.codes[code]
	delete(d.codes, code)
	d.mu.Unlock()
	if !ok {
		return "", auth.ErrCode
	}
	return d.put(d.sessions, s.Begin(time.Now()))
}

func (d *doorman) SignOut(_ context.Context, key auth.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, key)
	return nil
}

// browse makes one request of a browser, which follows no redirect.
func browse(t *testing.T, method, address string, form url.Values, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}

func TestABrowserSignsInByATokenAndOut(t *testing.T) {
	d := newDoorman()
	token := d.give(t, auth.Viewer)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions = d, d })

	if a := ask(t, srv, "GET", "/login?next=/jobs/a", ""); a.status != 200 || !strings.Contains(a.text, `value="/jobs/a"`) ||
		!strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the form: got %d, %v, %s", a.status, a.header, a.text)
	}
	if res := browse(t, "POST", srv.URL+"/login", url.Values{"token": {"rota_wrong"}}); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 0 {
		t.Errorf("a wrong token: got %d, %v, want 401 and no cookie", res.StatusCode, res.Cookies())
	}
	form := url.Values{"token": {" " + token + "\n"}, "next": {"/jobs/a?x=1"}}
	if res := browse(t, "POST", srv.URL+"/login", form, "Sec-Fetch-Site", "cross-site"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: got %d, want 403", res.StatusCode)
	}
	res := browse(t, "POST", srv.URL+"/login", form)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/jobs/a?x=1" || len(res.Cookies()) != 1 {
		t.Fatalf("got %d, %v, want a cookie and a way back to the page", res.StatusCode, res.Header)
	}
	cookie := res.Cookies()[0]
	if cookie.Name != "rota-session" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || len(cookie.Value) != 43 {
		t.Errorf("got the cookie %+v", cookie)
	}
	proof := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	if a := ask(t, srv, "GET", "/v1/jobs", "", proof...); a.status != 200 {
		t.Errorf("with the cookie: got %d %s", a.status, a.text)
	}
	if a := ask(t, srv, "POST", "/v1/jobs/in-http/pause", "", proof...); a.status != 403 {
		t.Errorf("the session of a viewer pauses a job: got %d %s", a.status, a.text)
	}
	if res := browse(t, "GET", srv.URL+"/login?next=/x", nil, proof...); res.Header.Get("Location") != "/x" {
		t.Errorf("a second login: got %d, %v, want the way to the page", res.StatusCode, res.Header)
	}
	again := browse(t, "POST", srv.URL+"/login", form, proof...)
	if a := ask(t, srv, "GET", "/v1/jobs", "", proof...); a.status != 401 || len(again.Cookies()) != 1 {
		t.Fatalf("a further sign-in of the browser leaves its first session: got %d", a.status)
	}
	proof[1] = cookie.Name + "=" + again.Cookies()[0].Value
	if res := browse(t, "POST", srv.URL+"/logout", nil, proof...); res.StatusCode != http.StatusSeeOther || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: got %d, %v, want the cookie removed", res.StatusCode, res.Header)
	}
	if a := ask(t, srv, "GET", "/v1/jobs", "", proof...); a.status != 401 {
		t.Errorf("after the logout: got %d", a.status)
	}
}

func TestALinkSignsABrowserInOnce(t *testing.T) {
	d := newDoorman()
	token := d.give(t, auth.Operator)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions = d, d })
	a := ask(t, srv, "POST", "/v1/login-codes", "", "Authorization", "Bearer "+token)
	_, path, _ := strings.Cut(a.text, `"path":"`)
	path, _, _ = strings.Cut(path, `"`)
	if a.status != 201 || !strings.HasPrefix(path, "/login?code=") {
		t.Fatalf("got %d %s, want a path with a code", a.status, a.text)
	}
	if res := browse(t, "GET", srv.URL+path, nil, "Sec-Purpose", "prefetch;prerender"); len(res.Cookies()) != 0 {
		t.Errorf("a prefetch signs in: %v", res.Header)
	}
	if res := browse(t, "HEAD", srv.URL+path, nil); len(res.Cookies()) != 0 {
		t.Errorf("HEAD signs in: %v", res.Header)
	}
	for _, site := range []string{"cross-site", "same-site"} { // a page could sign the browser in as somebody else
		if res := browse(t, "GET", srv.URL+path, nil, "Sec-Fetch-Site", site); res.StatusCode != http.StatusForbidden || len(res.Cookies()) != 0 {
			t.Errorf("a link on a page of another site (%s): got %d, %v, want 403 and no cookie", site, res.StatusCode, res.Header)
		}
	}
	res := browse(t, "GET", srv.URL+path, nil, "Sec-Fetch-Site", "none")
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || len(res.Cookies()) != 1 {
		t.Fatalf("got %d, %v, want a cookie", res.StatusCode, res.Header)
	}
	proof := []string{"Cookie", "rota-session=" + res.Cookies()[0].Value}
	if a := ask(t, srv, "POST", "/v1/jobs/in-http/pause", "", proof...); a.status != 200 || !strings.Contains(a.text, "p-operator") {
		t.Errorf("the session has not the rights and the name of its principal: got %d %s", a.status, a.text)
	}
	if res := browse(t, "GET", srv.URL+path, nil); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 0 {
		t.Errorf("the second use: got %d, %v", res.StatusCode, res.Header)
	}
	d.File.Tokens = nil // the token is revoked, and so the session ends
	if a := ask(t, srv, "GET", "/v1/jobs", "", proof...); a.status != 401 {
		t.Errorf("the session outlives its token: got %d", a.status)
	}
}

func TestLoginLeadsToPagesOfThisServerAlone(t *testing.T) {
	d := newDoorman()
	token := d.give(t, auth.Viewer)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions = d, d })
	for next, want := range map[string]string{
		"": "/", "/jobs/a?n=1": "/jobs/a?n=1", "//evil.example/": "/", "https://evil.example/": "/", "/\\evil.example": "/",
		"javascript:alert(1)": "/", "jobs": "/", "/login?next=/login": "/", "/logout": "/", "/a\r\nSet-Cookie: x=y": "/",
	} {
		res := browse(t, "POST", srv.URL+"/login", url.Values{"token": {token}, "next": {next}})
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
	open := serve(t, guarded().backend())
	if res := browse(t, "GET", open.URL+"/login?next=/x", nil); res.Header.Get("Location") != "/x" || len(res.Cookies()) != 0 {
		t.Errorf("without authentication: got %d, %v, want the way to the page", res.StatusCode, res.Header)
	}
}

// Each session is a record with a lease of its own. A reader must not fill the store with them.
func TestSignInsAreLimited(t *testing.T) {
	d := newDoorman()
	token, other := d.give(t, auth.Viewer), d.give(t, auth.Operator)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions = d, d })
	var res *http.Response
	until(t, "a sign-in is refused", func() bool {
		res = browse(t, "POST", srv.URL+"/login", url.Values{"token": {token}})
		return res.StatusCode != http.StatusSeeOther || len(d.sessions) > 1000
	})
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || len(res.Cookies()) != 0 {
		t.Errorf("after %d sessions: got %d, %v, want 429 with Retry-After", len(d.sessions), res.StatusCode, res.Header)
	}
	if a := ask(t, srv, "POST", "/v1/login-codes", "", "Authorization", "Bearer "+token); a.status != http.StatusTooManyRequests {
		t.Errorf("a code: got %d %s, want 429", a.status, a.text)
	}
	if res := browse(t, "POST", srv.URL+"/login", url.Values{"token": {other}}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("another principal: got %d", res.StatusCode)
	}
}
