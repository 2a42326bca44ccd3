package node

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// ask sends a request with a JSON text, and returns the answer. token may be empty.
func ask(t testing.TB, method, url, body, token string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

func newSecret(t testing.TB) auth.Secret {
	t.Helper()
	s, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
