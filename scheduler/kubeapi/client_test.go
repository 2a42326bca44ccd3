package kubeapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// newClient returns a client of a server, and the file of its token.
func newClient(t *testing.T, serve http.HandlerFunc) (client *kubeapi.Client, token string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	token = filepath.Join(dir, "token")
	config := fmt.Sprintf("current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {tokenFile: token}}]\n", server.URL)
	for path, text := range map[string]string{filepath.Join(dir, "config"): config, token: "t"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client, err := kubeapi.FromFile(filepath.Join(dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, token
}

// TestOnlyAnAPIServerSaysThatAnObjectDoesNotExist answers 404 as an API server, and as a proxy without a backend.
func TestOnlyAnAPIServerSaysThatAnObjectDoesNotExist(t *testing.T) {
	for text, want := range map[string]bool{
		`{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`: true,
		"default backend - 404": false,
		"":                      false,
	} {
		client, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, text)
		})
		err := client.Call(t.Context(), http.MethodGet, "/x", nil, nil)
		if got := errors.Is(err, kubeapi.ErrNotFound); err == nil || got != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestAnEmptyTokenIsNotSent empties the file of the token, as a tool does that is about to write a new one.
func TestAnEmptyTokenIsNotSent(t *testing.T) {
	calls := 0
	client, token := newClient(t, func(http.ResponseWriter, *http.Request) { calls++ })
	if err := os.WriteFile(token, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := client.Call(t.Context(), http.MethodGet, "/x", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "is empty") || calls != 0 {
		t.Errorf("got %v after %d calls, want an error before any call", err, calls)
	}
}
