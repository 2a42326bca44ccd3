package cluster

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/provider"
)

func (s *signedIn) onThePage(t *testing.T) {
	browser, a := s.signIn(bob)
	if a.status != http.StatusOK || a.at != s.node.URL+"/jobs" || !strings.Contains(a.text, "other") {
		t.Fatalf("bob, who is in sre: got %d at %s:\n%.600s", a.status, a.at, a.text)
	}
	if status, text, _ := s.visit(browser, "GET", s.node.URL+"/v1/login", ""); !strings.Contains(text, `"bob@example.com"`) || !strings.Contains(text, `"session"`) {
		t.Errorf("bob's session: got %d, %s", status, text)
	}
	if status, text, _ := s.visit(browser, "POST", s.node.URL+"/v1/jobs/ours/pause", ""); status != http.StatusOK {
		t.Errorf("an operator pauses a job: got %d, %s", status, text)
	}
	if status, _, _ := s.visit(browser, "POST", s.node.URL+"/v1/pause", ""); status != http.StatusForbidden {
		t.Errorf("an operator pauses all jobs: got %d, want 403", status)
	}
	if _, _, at := s.visit(browser, "POST", s.node.URL+"/logout", ""); !strings.HasPrefix(at, s.node.URL+"/login") {
		t.Errorf("the sign-out leads to %s", at)
	}
	if status, _, _ := s.visit(browser, "GET", s.node.URL+"/v1/jobs", ""); status != http.StatusUnauthorized {
		t.Errorf("after the sign-out: got %d, want 401", status)
	}

	browser, _ = s.signIn(carol)
	if status, text, _ := s.visit(browser, "GET", s.node.URL+"/v1/jobs", ""); status != http.StatusOK ||
		!strings.Contains(text, `"ours"`) || strings.Contains(text, `"other"`) {
		t.Errorf("carol, who sees the jobs of team a: got %d, %s", status, text)
	}
	if _, a := s.signIn(dave); a.status != http.StatusForbidden || !strings.Contains(a.text, "dave@example.com has no role here") {
		t.Errorf("dave, who has no role: got %d, %s", a.status, a.text)
	}
	if _, a := s.signIn(nil); a.status != http.StatusUnauthorized || !strings.Contains(a.text, "refused the sign-in") {
		t.Errorf("somebody whom the provider refuses: got %d, %s", a.status, a.text)
	}
	forged := provider.Claims{"sub": "5", "email": "alice@example.com", "email_verified": false}
	if _, a := s.signIn(forged); a.status != http.StatusUnauthorized {
		t.Errorf("an address that the provider has not verified: got %d, %s", a.status, a.text)
	}
}

func (s *signedIn) wrongAnswers(t *testing.T) {
	s.p.Be(bob)
	begun, _ := s.begin()
	codes := s.p.Asked("/token")
	for name, c := range map[string]struct {
		browser *http.Client
		state   string
	}{"another browser": {s.browser(), "x"}, "a wrong state": {begun, "x"}, "no state": {begun, ""}} {
		status, text, _ := s.visit(c.browser, "GET", s.node.URL+"/login/callback?code=x&state="+c.state, "")
		if status != http.StatusUnauthorized || !strings.Contains(text, "not begun in this browser") {
			t.Errorf("%s: got %d, %s", name, status, text)
		}
	}
	if asked := s.p.Asked("/token") - codes; asked > 0 {
		t.Errorf("the replica brought %d codes of strangers to the provider", asked)
	}
	s.p.ConfuseNonce("of another sign-in")
	_, nonce := s.signIn(bob)
	s.p.ConfuseNonce("")
	if nonce.status != http.StatusUnauthorized || !strings.Contains(nonce.text, "belongs to another sign-in") {
		t.Errorf("a wrong nonce: got %d, %s", nonce.status, nonce.text)
	}
	for _, reason := range []string{"its state differs", "its nonce differs"} {
		Await(t, 5*time.Second, "the log has a line with "+reason, func() bool { return strings.Contains(s.node.Log(), reason) })
	}
}
