package page

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/provider"
)

// TestSignInByOpenID signs a person in by the link on the page, and out again.
func TestSignInByOpenID(t *testing.T) {
	b := newBrowser(t)
	p, dir := provider.Start(t, false), t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		return files.Write(t, filepath.Join(dir, name), text)
	}
	token, entry := cluster.NewToken(t, binary, "harness", "admin")
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
	b.do(chromedp.Navigate(c.Replicas()[0].URL + "/jobs/ours"))
	b.picture("signedin", "/jobs/ours")
	submit(b, c.Replicas()[0].URL, "/do/pause?job=ours", map[string]string{"reason": "a migration"})
	if v, err := c.Client.Job(t.Context(), "ours"); err != nil || v.Paused == nil || v.Paused.By == "" || !strings.Contains(v.Paused.By, "bob@example.com") {
		t.Errorf("bob's pause: got %+v, %v", v.Paused, err)
	}
	refusedForm(t, b, c)
	sessionEnds(t, b, c)
	dialogWithoutSession(t, b, c)
}

// refusedForm sends a form that is too long for the page. A person gets words.
func refusedForm(t *testing.T, b *browser, c *cluster.Cluster) {
	b.open(c.Replicas()[0].URL + "/do/pause?job=ours")
	b.eval("document.querySelector('[name=reason]').value = 'x'.repeat(2 << 20); document.querySelector('form.action button').click(); 0")
	b.await(20*time.Second, "the refusal", "document.querySelector('[role=alert]')?.textContent.startsWith('The body has more than')")
	if got := b.text("main"); !strings.Contains(got, "Nothing was changed. Go back to your form") {
		t.Errorf("the refusal says %s", got)
	}
	b.picture("refused", "/do/pause")
	if list := b.complained("413"); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
}

// dialogWithoutSession proves that a form for a dialog leads to the form of the sign-in if the session has ended.
func dialogWithoutSession(t *testing.T, b *browser, c *cluster.Cluster) {
	b.open(c.Replicas()[0].URL + "/jobs/ours")
	b.do(chromedp.Click("#openid"))
	b.await(20*time.Second, "bob is back", "location.pathname === '/jobs/ours'")
	b.eval("fetch('/logout', {method: 'POST'}).then(() => document.querySelector('a[data-dialog]').click()); 0")
	b.await(20*time.Second, "the form of the sign-in", "location.pathname === '/login' && document.querySelector('#openid')")
	if list := b.complained("401", "413"); list != "" {
		t.Errorf("the page violated its policy or had errors:\n%s", list)
	}
}

// sessionEnds proves that an open page of a session that has ended leads to the form, and back to the page.
func sessionEnds(t *testing.T, b *browser, c *cluster.Cluster) {
	b.open(c.Replicas()[0].URL + "/jobs/ours")
	b.await(10*time.Second, "the page is live", "document.querySelector('#live').dataset.state === 'on'")
	etcd := cluster.Dial(t, c.Endpoints())
	deleted, err := etcd.Delete(t.Context(), cluster.Prefix+"/sessions/", clientv3.WithPrefix())
	if err != nil || deleted.Deleted == 0 {
		t.Fatalf("end the sessions: %+v, %v", deleted, err)
	}
	cluster.Await(t, 30*time.Second, "the page asks to sign in again", func() bool {
		if _, err := c.Client.PauseJob(t.Context(), "ours", "a change, so that the page reads again"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Client.ResumeJob(t.Context(), "ours", ""); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(b.text("[role=alert]"), "session has ended")
	})
	b.picture("expired", "/login")
	if list := b.complained("401", "413"); list != "" {
		t.Errorf("the form violated its policy or had errors:\n%s", list)
	}
	b.do(chromedp.Click("#openid"))
	b.await(20*time.Second, "bob is back", "location.pathname === '/jobs/ours'")
	b.do(chromedp.Click("footer form button"))
	b.await(10*time.Second, "bob has signed out", "location.pathname === '/login' && !document.querySelector('[role=alert]')")
	b.picture("signin", "/login")
}
