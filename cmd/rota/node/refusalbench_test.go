package node

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

// BenchmarkRefusal measures refused requests: in the handler alone, and with a connection that stays open.
func BenchmarkRefusal(b *testing.B) {
	endpoint := etcd(b)
	set := outside(b, "on", endpoint)
	token, wrong := newSecret(b), newSecret(b)
	set.Auth = config.Auth{Mode: config.AuthRequired, File: b.TempDir() + "/auth.yaml"}
	entry := fmt.Sprintf("tokens: [{id: %s, sha256: %s, principal: root, role: admin}]\n", token.ID, token.Hash())
	if err := os.WriteFile(set.Auth.File, []byte(entry), 0o600); err != nil {
		b.Fatal(err)
	}
	handler := start(b, Config{Settings: set, Version: version}).node.server.Handler()
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, o := range []struct {
		name, method, path, body, token string
		status                          int
	}{
		{"no token", http.MethodGet, "/v1/jobs", "", "", http.StatusUnauthorized},
		{"wrong token", http.MethodGet, "/v1/jobs", "", wrong.Text(), http.StatusUnauthorized},
		{"submission without token", http.MethodPost, "/v1/runs", `{"shell":"true"}`, "", http.StatusUnauthorized},
		{"too many changes", http.MethodDelete, "/v1/limits/none", "", token.Text(), http.StatusTooManyRequests},
	} {
		ask := func(to string) *http.Request {
			req, err := http.NewRequestWithContext(b.Context(), o.method, to+o.path, strings.NewReader(o.body))
			if err != nil {
				b.Fatal(err)
			}
			req.RemoteAddr = "127.0.0.1:1"
			req.Header.Set("Content-Type", "application/json")
			if o.token != "" {
				req.Header.Set("Authorization", "Bearer "+o.token)
			}
			return req
		}
		b.Run("handler/"+o.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := &discard{header: http.Header{}}
				handler.ServeHTTP(w, ask("http://localhost"))
				if w.status != o.status && w.status != http.StatusNotFound {
					b.Fatalf("got %d", w.status)
				}
			}
		})
		b.Run("connection/"+o.name, func(b *testing.B) {
			for b.Loop() {
				res, err := server.Client().Do(ask(server.URL))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body) // otherwise the client closes the connection
				if res.Body.Close(); res.StatusCode != o.status && res.StatusCode != http.StatusNotFound {
					b.Fatalf("got %d", res.StatusCode)
				}
			}
		})
	}
}
