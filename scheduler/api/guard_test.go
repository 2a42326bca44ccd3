package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestOtherSitesChangeNothing(t *testing.T) {
	srv := serve(t, newFake().backend(), func(c *api.Config) { c.Hosts = []string{"rota.internal"} })
	host := strings.TrimPrefix(srv.URL, "http://")
	for _, tc := range []struct {
		name    string
		method  string
		headers []string
		status  int
	}{
		{"a program", "POST", nil, 200},
		{"a page of our own", "POST", []string{"Origin", "http://" + host}, 200},
		{"a page of our own, in a modern browser", "POST", []string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}, 200},
		{"a page of another site", "POST", []string{"Origin", "http://evil.example"}, 403},
		{"a page of another site, in a modern browser", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page without an origin", "POST", []string{"Origin", "null"}, 403},
		{"a page of a name that was pointed here", "POST", []string{"Origin", "http://evil.example", "Host", "evil.example"}, 421},
		{"a page of a name that we know", "POST", []string{"Origin", "http://rota.internal", "Host", "rota.internal"}, 200},
		{"another site's page that only looks", "GET", []string{"Origin", "http://evil.example"}, 405},
		{"a page of localhost", "POST", []string{"Origin", "http://localhost:1", "Host", "localhost:1"}, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, srv, tc.method, "/v1/jobs/backup/pause", "", tc.headers...)
			if a.status != tc.status {
				t.Errorf("got %d %s, want %d", a.status, a.text, tc.status)
			}
			if strings.Contains(a.text, "page of  may") {
				t.Errorf("the answer does not say which page is refused: %s", a.text)
			}
			if a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("the answer allows other origins to read it")
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	a := ask(t, serve(t, newFake().backend()), "GET", "/v1/jobs", "")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestPanicEndsItsOwnRequestOnly(t *testing.T) {
	f := newFake()
	f.panics = true
	srv := serve(t, f.backend())
	a := ask(t, srv, "GET", "/v1/workers", "")
	if p := a.problem(t); a.status != 500 || strings.Contains(p.Detail, "cheese") {
		t.Errorf("got %d %q, want 500 without the panic's words", a.status, p.Detail)
	}
	f.panics = false
	if a := ask(t, srv, "GET", "/v1/workers", ""); a.status != 200 {
		t.Errorf("after it: got %d, want 200", a.status)
	}
}

// The length of a body is known before its first byte, so one that is too large is refused at once. A read needs no body, so it holds no
// place until one has arrived.
func TestBodyThatNeverEnds(t *testing.T) {
	srv := serve(t, newFake().backend(), func(c *api.Config) { c.RequestTimeout = 50 * time.Millisecond })
	for request, want := range map[string]struct {
		length int
		status int
		closed bool
	}{
		"PUT /v1/jobs/new": {100, http.StatusRequestTimeout, true},
		"PUT /v1/jobs/old": {1 << 30, http.StatusRequestEntityTooLarge, true},
		"GET /livez":       {2, http.StatusOK, false},
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n{", request, want.length)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != want.status || want.closed && !res.Close {
			t.Errorf("%s: got %s, close %t, want %d", request, res.Status, res.Close, want.status)
		}
	}
}

// A worker has no mirror and no jobs. It serves only logs, probes and metrics.
func TestWorkerOnly(t *testing.T) {
	f := newFake()
	srv := serve(t, api.Backend{
		Logs:    f,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "rota_up 1") }),
	}, func(c *api.Config) { c.Version.Version = "1.2.3" })
	for path, want := range map[string]int{
		"/v1/jobs": 404, "/v1/events": 404, "/v1/runs/backup/x/logs": 404, "/livez": 200, "/readyz": 200, "/healthz": 200,
		"/leader": 503, "/metrics": 200, "/version": 200, "/v1/openapi.json": 200, "/": 404,
	} {
		if a := ask(t, srv, "GET", path, ""); a.status != want {
			t.Errorf("%s: got %d %s, want %d", path, a.status, a.text, want)
		}
	}
	if a := ask(t, srv, "GET", "/v1/jobs", ""); !strings.Contains(a.problem(t).Detail, "ask a replica") {
		t.Errorf("got %s, want a hint to ask a replica", a.text)
	}
	if v := decode[api.VersionView](t, ask(t, srv, "GET", "/version", "")); v.Version != "1.2.3" || !strings.HasPrefix(v.Go, "go") {
		t.Errorf("got %+v, want version 1.2.3 and Go's", v)
	}
}

func TestUnknownPaths(t *testing.T) {
	srv := serve(t, newFake().backend())
	for _, path := range []string{"/", "/jobs/backup", "/v1/nothing"} {
		if a := ask(t, srv, "GET", path, ""); a.status != 404 || !strings.Contains(a.problem(t).Detail, "/v1/openapi.json") {
			t.Errorf("%s: got %d %s, want 404 and where to look", path, a.status, a.text)
		}
	}
}
