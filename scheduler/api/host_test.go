package api_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// If the name of a page resolves to this process, the page still cannot read or change anything.
func TestRequestsUnderAForeignNameAreRefused(t *testing.T) {
	srv := serve(t, newFake().backend(), func(c *api.Config) { c.Hosts = []string{"q1.internal", "*.rota.svc"} })
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8470": 200, "[::1]:8470": 200, "10.1.2.3:80": 200, "localhost": 200, "LOCALHOST:1": 200, "localhost.": 200,
		"q1.internal": 200, "Q1.Internal:8470": 200, "a.rota.svc": 200, "a.b.rota.svc:1": 200,
		"evil.example": 421, "evil.example:8470": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
		"q1.internal.evil.example": 421, "xq1.internal": 421, "rota.svc": 421, "xrota.svc": 421, "2130706433": 421,
	} {
		for _, path := range []string{"/v1/jobs", "/v1/cluster", "/version"} {
			if a := ask(t, srv, "GET", path, "", "Host", host); a.status != want {
				t.Errorf("GET %s under %s: got %d, want %d", path, host, a.status, want)
			}
		}
		if a := ask(t, srv, "POST", "/v1/jobs/backup/pause", "", "Host", host); a.status != want {
			t.Errorf("POST under %s: got %d, want %d", host, a.status, want)
		}
	}
}

// A proxy that names itself to this process instead of the name that the browser uses gets an answer that says what to set.
func TestARefusalBehindAProxySaysWhatToSet(t *testing.T) {
	srv := serve(t, newFake().backend())
	if a := ask(t, srv, "GET", "/v1/jobs", "", "Host", "upstream"); a.status != 421 || !strings.Contains(a.text, "A proxy must send the Host") {
		t.Errorf("the name of an upstream: got %d %s", a.status, a.text)
	}
	a := ask(t, srv, "POST", "/v1/jobs/backup/pause", "", "Host", "127.0.0.1:8470", "Origin", "http://rota.example.com")
	if a.status != 403 || !strings.Contains(a.text, "a proxy must send the Host") {
		t.Errorf("a page under another name: got %d %s", a.status, a.text)
	}
	a = ask(t, srv, "POST", "/v1/jobs/backup/pause", "", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site")
	if a.status != 403 || strings.Contains(a.text, "proxy") {
		t.Errorf("a page of another site: got %d %s", a.status, a.text)
	}
}
