package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestHealth(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "[-]store failed: etcd does not answer\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}))
	t.Cleanup(server.Close)
	socket := filepath.Join(t.TempDir(), "api.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := &httptest.Server{Listener: listener, Config: &http.Server{Handler: server.Config.Handler, ReadHeaderTimeout: time.Second}}
	local.Start()
	t.Cleanup(local.Close)
	var asked atomic.Int32
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, "ok\n")
	}))
	t.Cleanup(late.Close)
	proxy := httptest.NewServer(http.RedirectHandler(server.URL+"/livez", http.StatusFound))
	t.Cleanup(proxy.Close)
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	t.Cleanup(empty.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"a process that answers is alive", []string{"--server", server.URL}, exitOK, "ok\n", ""},
		{"a process that is not ready says why", []string{"--server", server.URL, "--ready"}, exitFailed, "", "etcd does not answer"},
		{"an answer without a text has a status", []string{"--server", empty.URL}, exitFailed, "", "answered 404 Not Found"},
		{"nobody is not alive", []string{"--server", gone.URL}, exitFailed, "", "refused"},
		{"a proxy that leads elsewhere is no answer", []string{"--server", proxy.URL, "--ready"}, exitFailed, "", "302 Found, which leads to"},
		{"of several all have to be", []string{"--server", server.URL + "," + gone.URL}, exitFailed, "ok\n", "refused"},
		{"a socket leads to its process", []string{"--server", "unix://" + socket}, exitOK, "ok\n", ""},
		{"a process may become ready later", []string{"--server", late.URL, "--ready", "--wait", "1m"}, exitOK, "ok\n", ""},
		{"the wait ends", []string{"--server", server.URL, "--ready", "--wait", "1ms"}, exitFailed, "", "etcd does not answer"},
		{"nonsense is a usage error", []string{"--server", "ftp://x"}, exitUsage, "", "ftp://x"},
		{"data says which", []string{"--server", server.URL, "-o", "json"}, exitOK, `"healthy": true`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"health"}, tt.args...), strings.NewReader(""), &stdout, &stderr)
			if code != tt.code {
				t.Errorf("exit code: got %d, want %d (stderr %q)", code, tt.code, stderr.String())
			}
			if got := stdout.String(); !strings.Contains(got, tt.stdout) || tt.stdout == "" && got != "" {
				t.Errorf("stdout: got %q, want %q in it", got, tt.stdout)
			}
			if got := stderr.String(); !strings.Contains(got, tt.stderr) {
				t.Errorf("stderr: got %q, want %q in it", got, tt.stderr)
			}
		})
	}
}
