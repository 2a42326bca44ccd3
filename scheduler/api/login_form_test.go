package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
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
