package cluster

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/provider"
)

// signedIn is a cluster of one replica with an OpenID provider.
type signedIn struct {
	*Cluster

	t    *testing.T
	p    *provider.Provider
	node *Node
	home string // of the person who uses the command line
}

// openIDRoles gives roles to groups and to alice. The token belongs to the test itself.
const openIDRoles = `
bindings:
  - {group: sre, role: operator}
  - {group: team-a, role: viewer, labels: {team: a}}
  - {principal: alice@example.com, role: admin}
tokens:
`

var (
	bob   = provider.Claims{"sub": "2", "email": "bob@example.com", "email_verified": true, "groups": []string{"sre"}}
	carol = provider.Claims{"sub": "3", "email": "carol@example.com", "groups": []string{"team-a", "staff"}}
	dave  = provider.Claims{"sub": "4", "email": "dave@example.com"}
)

func startSignedIn(t *testing.T, ledger *Ledger) *signedIn {
	t.Helper()
	s := &signedIn{t: t, p: provider.Start(t, true), home: t.TempDir()}
	dir := t.TempDir()
	token, entry := NewToken(t, binary, "harness", "admin")
	write := func(name, text string) string {
		return files.Write(t, filepath.Join(dir, name), text)
	}
	roles, secret := write("auth.yaml", openIDRoles+entry), write("secret", provider.Secret+"\n")
	s.Cluster = Start(t, Config{
		Binary: binary, Replicas: 1, TokenFile: write("token", token), Jobs: map[string]job.Spec{
			"tick":  {Shell: ledger.Shell(""), Every: job.Duration(time.Second), Missed: job.MissedAll},
			"ours":  {Shell: "true", Labels: map[string]string{"team": "a"}},
			"other": {Shell: "true", Labels: map[string]string{"team": "b"}},
		},
		Flags: func(string) []string {
			return []string{
				"--auth-mode=required", "--auth-file=" + roles, "--auth-oidc-issuer=" + s.p.Issuer, "--auth-oidc-client-id=" + provider.Client,
				"--auth-oidc-client-secret-file=" + secret, "--auth-oidc-cli-client-id=" + provider.Public, "--auth-oidc-ca=" + s.p.CA(),
				"--auth-oidc-scopes=openid,email,groups",
			}
		},
	})
	s.node = s.Replicas()[0]
	return s
}

// visit makes a request. It returns the status, the text, and the address after all redirects.
func (s *signedIn) visit(browser *http.Client, method, address, token string) (status int, text, at string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := browser.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(body), res.Request.URL.String()
}

// browser returns a browser without cookies, which trusts the provider.
func (s *signedIn) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: s.p.Transport(), Timeout: 20 * time.Second}
}

// answer is the end of a sign-in.
type answer struct {
	status   int
	text, at string
}

var link = regexp.MustCompile(`id="openid" href="([^"]+)"`)

// signIn signs a person in on the page, and returns the browser and the last answer.
func (s *signedIn) signIn(user provider.Claims) (*http.Client, answer) {
	s.t.Helper()
	s.p.Be(user)
	browser := s.browser()
	_, form, at := s.visit(browser, "GET", s.node.URL+"/jobs", "")
	found := link.FindStringSubmatch(form)
	if found == nil || !strings.HasPrefix(at, s.node.URL+"/login?") {
		s.t.Fatalf("the page of a stranger at %s has no link to the provider:\n%s", at, form)
	}
	var a answer
	a.status, a.text, a.at = s.visit(browser, "GET", s.node.URL+strings.ReplaceAll(found[1], "&amp;", "&"), "")
	return browser, a
}

// begin begins a sign-in on the page. The browser does not go to the provider. state comes back with the code of the provider.
func (s *signedIn) begin() (browser *http.Client, state string) {
	s.t.Helper()
	browser = s.browser()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := browser.Get(s.node.URL + "/login/oidc")
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	to, err := res.Location()
	if err != nil || !strings.HasPrefix(to.String(), s.p.Issuer) {
		s.t.Fatalf("the sign-in leads to %v, %v, and not to the provider", to, err)
	}
	return browser, to.Query().Get("state")
}

// TestOpenID signs people in by an OpenID provider: on the page, on the command line, and with tokens of the provider. It rotates
// the keys of the provider, and takes the provider away.
func TestOpenID(t *testing.T) {
	row(t)
	ledger := NewLedger(t)
	s := startSignedIn(t, ledger)
	for _, part := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the page", s.onThePage},
		{"answers that are not for this sign-in", s.wrongAnswers},
		{"tokens of the provider", s.byToken},
		{"the command line", s.onTheCommandLine},
		{"the command line, with a browser", s.withABrowser},
		{"another key", s.anotherKey},
		{"no provider", s.withoutProvider},
	} {
		t.Run(part.name, func(t *testing.T) {
			s.t = t
			part.run(t)
		})
	}
	s.t = t
	s.Check(ledger.Effects, nil, nil)
}
