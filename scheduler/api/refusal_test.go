package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// A person whose request reaches no page must get words, and learn whether the form had an effect. A program gets a problem.
func TestAPersonGetsAPage(t *testing.T) {
	srv := serve(t, guarded().backend())
	for what, c := range map[string]struct {
		method, path, body, header, value string
		status                            int
		want                              string
	}{
		"a foreign page":   {"POST", "/do/apply", "", "Origin", "https://evil.example", http.StatusForbidden, "Nothing was changed"},
		"a long text":      {"POST", "/do/apply", strings.Repeat("x", api.MaxBody+1), "X-Any", "1", http.StatusRequestEntityTooLarge, "Go back to your form"},
		"a foreign name":   {"GET", "/", "", "Host", "evil.example", http.StatusMisdirectedRequest, "add the name to http.hosts."},
		"a foreign method": {"PUT", "/version", "", "X-Any", "1", http.StatusMethodNotAllowed, "use GET"},
	} {
		for accept, kind := range map[string]string{"text/html,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/problem+json"} {
			a := ask(t, srv, c.method, c.path, c.body, "Accept", accept, "Content-Type", "application/x-www-form-urlencoded", c.header, c.value)
			if got := a.header.Get("Content-Type"); a.status != c.status || got != kind {
				t.Errorf("%s: got %d, %s, %s, want %d, %s", what, a.status, got, a.text, c.status, kind)
			}
			if accept != "*/*" && !strings.Contains(a.text, c.want) {
				t.Errorf("%s: got %s, want %q", what, a.text, c.want)
			}
		}
	}
}

// The login page costs more than a refusal, and anybody can ask for it. So its rate is bounded as that of all reads.
func TestPagesAreLimitedByClient(t *testing.T) {
	d := newDoorman()
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Sessions, c.Reads = d, d, 1 })
	a := ask(t, srv, "GET", "/login", "", "Accept", "text/html")
	for n := 1; n < 100 && a.status == http.StatusOK; n++ { // one a second, and four at once
		a = ask(t, srv, "GET", "/login", "", "Accept", "text/html")
	}
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" || !strings.Contains(a.text, "Wait 1 s, and reload this page.") {
		t.Errorf("one more: got %d, %s", a.status, a.text)
	}
	if a := ask(t, srv, "GET", "/livez", ""); a.status != http.StatusOK {
		t.Errorf("a probe: got %d", a.status)
	}
}
