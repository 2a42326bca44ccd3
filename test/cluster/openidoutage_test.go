package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (s *signedIn) withoutProvider(t *testing.T) {
	browser, _ := s.signIn(bob)
	token := s.p.Token(bob)
	begun, state := s.begin()
	s.p.Down(true)
	for name, c := range map[string]struct {
		browser *http.Client
		token   string
	}{"a session": {browser, ""}, "a token of the provider": {http.DefaultClient, token}} {
		if status, text, _ := s.visit(c.browser, "GET", s.node.URL+"/v1/jobs", c.token); status != http.StatusOK {
			t.Errorf("%s without the provider: got %d, %s", name, status, text)
		}
	}
	if _, err := s.node.Client.Jobs(t.Context()); err != nil {
		t.Errorf("a token of rota without the provider: %v", err)
	}
	if status, text, _ := s.visit(begun, "GET", s.node.URL+"/login/callback?code=x&state="+state, ""); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "does not answer") {
		t.Errorf("a code that the replica cannot bring to the provider: got %d, %s", status, text)
	}

	s.node.Kill()
	s.node.Start()
	s.WaitReady()
	runs := len(s.Recorder.Runs("tick"))
	Await(t, 10*time.Second, "a replica that never saw the provider dispatches", func() bool { return len(s.Recorder.Runs("tick")) > runs+2 })
	if _, err := s.node.Client.Jobs(t.Context()); err != nil {
		t.Errorf("a token of rota after a start without the provider: %v", err)
	}
	if status, _, _ := s.visit(browser, "GET", s.node.URL+"/v1/jobs", ""); status != http.StatusOK {
		t.Errorf("a session after a start without the provider: got %d", status)
	}
	if status, _, _ := s.visit(http.DefaultClient, "GET", s.node.URL+"/v1/jobs", token); status != http.StatusServiceUnavailable {
		t.Errorf("a token of the provider, whose keys nobody knows: got %d, want 503", status)
	}
	if status, text, _ := s.visit(s.browser(), "GET", s.node.URL+"/login/oidc", ""); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "does not answer") || !strings.Contains(text, `name="token"`) {
		t.Errorf("a sign-in without the provider: got %d, %s", status, text)
	}
	if v, err := s.node.Client.Cluster(t.Context()); err != nil || !strings.Contains(fmt.Sprint(v), "Nobody can sign in by "+s.p.Issuer) {
		t.Errorf("the status does not say that the provider is away: %+v, %v", v, err)
	}
	s.p.Down(false)
	Await(t, 10*time.Second, "people sign in again", func() bool {
		_, a := s.signIn(bob)
		return a.status == http.StatusOK
	})
	if status, _, _ := s.visit(http.DefaultClient, "GET", s.node.URL+"/v1/jobs", token); status != http.StatusOK {
		t.Errorf("a token of the provider, which is back: got %d", status)
	}
}
