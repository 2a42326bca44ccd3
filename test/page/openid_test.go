package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/provider"
)

// TestSignInByOpenID signs a person in by the link on the page, and out again.
func TestSignInByOpenID(t *testing.T) {
	b := newBrowser(t)
	p, dir := provider.Start(t, false), t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, err := exec.CommandContext(t.Context(), binary, "token", "create", "harness", "--role", "admin", "--offline").Output()
	if err != nil {
		t.Fatal(err)
	}
	token, entry, _ := strings.Cut(string(text), "\n")
	_, entry, _ = strings.Cut(entry, "auth.file:\n")
	roles := write("auth.yaml", "bindings: [{group: sre, role: operator}]\ntokens:\n"+entry)
	secret := write("secret", provider.Secret)
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Replicas: 1, TokenFile: write("token", token), Jobs: map[string]job.Spec{"ours": {Shell: "true"}},
		Flags: func(string) []string {
			return []string{
				"--auth-mode=required", "--auth-file=" + roles, "--auth-oidc-issuer=" + p.Issuer, "--auth-oidc-client-id=" + provider.Client,
				"--auth-oidc-client-secret-file=" + secret,
			}
		},
	})
	p.Be(provider.Claims{"sub": "2", "email": "bob@example.com", "groups": []string{"sre"}})
	b.open(c.Replicas()[0].URL + "/jobs/ours")
	if at, _ := b.eval("location.pathname").(string); at != "/login" {
		t.Fatalf("a stranger is at %s", at)
	}
	b.do(chromedp.Click("#openid"))
	b.await(20*time.Second, "bob sees the job", "location.pathname === '/jobs/ours' && document.querySelector('main').textContent.includes('ours')")
	if list := b.complained(); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
	if cookies, _ := b.eval("document.cookie").(string); cookies != "" {
		t.Errorf("scripts see the cookies %q", cookies)
	}
	submit(b, c.Replicas()[0].URL, "/do/pause?job=ours", map[string]string{"reason": "a migration"})
	if v, err := c.Client.Job(t.Context(), "ours"); err != nil || v.Paused == nil || v.Paused.By == "" || !strings.Contains(v.Paused.By, "bob@example.com") {
		t.Errorf("bob's pause: got %+v, %v", v.Paused, err)
	}
}
