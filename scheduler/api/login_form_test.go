package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// A person may write a form for longer than a session lasts. The browser can send the form again after the person has signed in in
// another tab. A way to the login page, or an answer for programs, would lose the text.
func TestAFormOutlivesItsSession(t *testing.T) {
	d := newDoorman()
	srv := serve(t, guarded().backend(), func(c *api.Config) {
		c.Auth, c.Sessions = d, d
		c.Page = func(api.Operations) http.Handler { return http.NotFoundHandler() }
	})
	a := ask(t, srv, "POST", "/do/new", "name=x", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html,*/*;q=0.8")
	if a.status != http.StatusUnauthorized || !strings.Contains(a.text, "nothing was changed") ||
		!strings.Contains(a.text, `<form method="post" action="/login" target="_blank">`) {
		t.Errorf("got %d, %s, want a form that signs in in another tab", a.status, a.text)
	}
	if a := ask(t, srv, "POST", "/do/new", "", "Accept", "*/*"); a.status != http.StatusUnauthorized || !strings.Contains(a.text, "sign in at") {
		t.Errorf("a program: got %d, %s", a.status, a.text)
	}
	if a := ask(t, srv, "GET", "/login", ""); strings.Contains(a.text, "target=") {
		t.Errorf("the form of the login page opens another tab: %s", a.text)
	}
}

// absent cannot check a session.
type absent struct{ *doorman }

func (absent) Authenticate(r *http.Request) (auth.Caller, error) {
	if r.Header.Get("Authorization") != "" {
		return auth.Caller{}, auth.ErrProvider
	}
	switch api.SessionOf(r) {
	case "":
		return auth.Caller{}, nil
	case "by-stored-token":
		return auth.Caller{}, auth.ErrStale
	}
	return auth.Caller{}, fmt.Errorf("%w: no store", api.ErrUnavailable)
}

// While the store does not answer, as just after a start, a session may be valid. An open page must not lead to the login
// page then.
func TestASessionThatCannotBeCheckedHasNotEnded(t *testing.T) {
	d := absent{newDoorman()}
	srv := serve(t, guarded().backend(), func(c *api.Config) {
		c.Auth, c.Sessions = d, d
		c.Page = func(api.Operations) http.Handler { return http.NotFoundHandler() }
	})
	for cookie, method := range map[string]string{"x": http.MethodGet, "y": http.MethodPost, "by-stored-token": http.MethodGet} {
		a := ask(t, srv, method, "/jobs", "", "Cookie", "rota-session="+cookie, "Accept", "text/html")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.text, "cannot check your session") ||
			strings.Contains(a.text, "ended") {
			t.Errorf("%s: got %d, %s, want 503", method, a.status, a.text)
		}
	}
	if a := ask(t, srv, "GET", "/login", "", "Cookie", "rota-session=x"); strings.Contains(a.text, "ended") {
		t.Errorf("the login page says that the session has ended: %s", a.text)
	}
	if a := ask(t, srv, "GET", "/jobs", "", "Accept", "text/html"); strings.Contains(a.text, "cannot check") {
		t.Errorf("a client without a session: got %d, %s, want the way to the login page", a.status, a.text)
	}
}

// A client must not throw its token or session away because they cannot be checked at present.
func TestAProofThatCannotBeCheckedIsNotRefused(t *testing.T) {
	d := absent{newDoorman()}
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions = d, d })
	for name, header := range map[string][]string{
		"a session": {"Cookie", "rota-session=x"}, "a token of a provider": {"Authorization", "Bearer a.b.c"},
	} {
		a := ask(t, srv, "GET", "/v1/jobs", "", header...)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d, %s, want 503 with Retry-After", name, a.status, a.text)
		}
	}
	if a := ask(t, srv, "GET", "/v1/jobs", ""); a.status != http.StatusUnauthorized {
		t.Errorf("nothing to check: got %d, want 401", a.status)
	}
}
