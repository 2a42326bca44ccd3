package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestALinkWithoutACodeIsNoSecret opens the page of a cluster in which nobody signs in. Its link works whenever it is opened.
func TestALinkWithoutACodeIsNoSecret(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no browser
	for path, once := range map[string]bool{"/": false, "/login?code=x": true} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"path":"` + path + `"}`))
		}))
		code, stdout, stderr := runHere(nil, "open", "--server", srv.URL)
		srv.Close()
		if code != 0 || stdout != srv.URL+path+"\n" || strings.Contains(stderr, "works once") != once {
			t.Errorf("%s: got code %d, %q and %q", path, code, stdout, stderr)
		}
	}
}
