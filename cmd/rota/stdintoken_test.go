package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A token on stdin serves every request of a command, although stdin can be read once.
func TestATokenOnStdinServesEveryRequest(t *testing.T) {
	t.Parallel()
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer s.Close()
	var out, stderr bytes.Buffer
	c := &cli{in: strings.NewReader("secret\n\n# id k3j2h8w4q9xz, principal ci, role operator\n"), out: &out, err: &stderr, now: time.Now}
	for range 2 {
		c.run(context.Background(), []string{"--server", s.URL, "--token-file", "-", "jobs"})
	}
	if len(got) < 2 {
		t.Fatalf("got %d requests, want 2: %s", len(got), stderr.String())
	}
	for _, header := range got {
		if header != "Bearer secret" {
			t.Errorf("got %q, want the token", header)
		}
	}
}
