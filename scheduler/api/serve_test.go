package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/test/poll"
)

// serve starts a server for a backend.
func serve(t *testing.T, back api.Backend, change ...func(*api.Config)) *httptest.Server {
	t.Helper()
	cfg := api.DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	srv := httptest.NewServer(api.New(cfg, back, hclog.NewNullLogger()).Handler())
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return srv
}

type answer struct {
	status int
	header http.Header
	text   string
}

// problem decodes an RFC 9457 body.
func (a answer) problem(t *testing.T) (p struct {
	Title, Detail string
	Status        int
	Errors        []struct{ Location, Message string }
}) {
	t.Helper()
	if got, want := a.header.Get("Content-Type"), "application/problem+json"; got != want {
		t.Errorf("content type: got %q, want %q (%s)", got, want, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), &p); err != nil {
		t.Fatalf("problem is no JSON: %v: %s", err, a.text)
	}
	if p.Status != a.status {
		t.Errorf("problem's status: got %d, want %d", p.Status, a.status)
	}
	return p
}

// ask makes one request; headers are pairs of name and value. Of a stream of events, it has only the status and the headers.
func ask(t *testing.T, srv *httptest.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return answer{res.StatusCode, res.Header, ""}
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func decode[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		t.Fatalf("decode %s: %v", a.text, err)
	}
	return v
}

var until = poll.Until
