package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
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

// A token of an OpenID provider is long if its owner is in many groups. A longer one than a server takes must not be cut.
func TestALongTokenOnStdinIsNotCut(t *testing.T) {
	for size, want := range map[int]string{20_000: strings.Repeat("x", 20_000), 100_000: ""} {
		c := &cli{in: strings.NewReader(strings.Repeat("x", size))}
		if got, err := c.stdinToken(t.Context(), "http://127.0.0.1:8470"); got != want || (err == nil) != (want != "") {
			t.Errorf("%d bytes: got %d and %v", size, len(got), err)
		}
	}
}

// A pipe, such as <(pass show rota), can be read once too.
func TestATokenInAPipeServesEveryRequest(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jobs":[]}`)
	}))
	defer s.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err1 := io.WriteString(w, "secret\n")
	if err := errors.Join(err1, w.Close()); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	args := []string{"jobs", "--server", s.URL, "--token-file", fmt.Sprintf("/dev/fd/%d", r.Fd())}
	if code := run(t.Context(), args, strings.NewReader(""), io.Discard, &stderr); code != exitOK || len(got) < 2 {
		t.Errorf("got exit code %d after %d requests: %s", code, len(got), &stderr)
	}
	for _, header := range got {
		if header != "Bearer secret" {
			t.Errorf("got %q, want the token", header)
		}
	}
}
