package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// apiServer answers as an API server of Kubernetes does to requests about Secrets.
type apiServer struct {
	mu      sync.Mutex
	secrets map[string]map[string]any // guarded by mu, by name
	writes  int                       // guarded by mu
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer pod-token" || !strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/shop/secrets") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	name := path.Base(r.URL.Path)
	var body map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		name = body["metadata"].(map[string]any)["name"].(string)
		body["metadata"].(map[string]any)["resourceVersion"] = time.Now().Format(time.RFC3339Nano)
	}
	switch was := s.secrets[name]; {
	case r.Method == http.MethodPost && was != nil:
		w.WriteHeader(http.StatusConflict)
		return
	case r.Method != http.MethodPost && was == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status"}`))
		return
	case body != nil:
		s.secrets[name] = body
		s.writes++
	}
	_ = json.NewEncoder(w).Encode(s.secrets[name])
}

func TestCertificatesBecomeSecretsOnce(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	authority, err := pki.Init(dir, "kubernetes", now)
	if err != nil {
		t.Fatal(err)
	}
	req := pki.Request{Name: "api", Kind: auth.KindReplica, Hosts: []string{"kubernetes.default.svc"}, Life: time.Hour}
	if err := authority.Issue(dir, req, now); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": "pod-token\n", "namespace": "shop"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "api.crt"), filepath.Join(dir, "api.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := &apiServer{secrets: map[string]map[string]any{}}
	s := httptest.NewUnstartedServer(server)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(gone.Addr().String())
	if err := gone.Close(); err != nil { // as where there is no kube-proxy
		t.Fatal(err)
	}
	environ := []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + port}
	run := func(more ...string) {
		t.Helper()
		args := append([]string{"pki", "kubernetes", "--account", dir, "--api-server", "https://" + u.Host, "--host", "rota-0.rota-peers"}, more...)
		if code, out, stderr := runHere(environ, args...); code != exitOK {
			t.Fatalf("got %d, %s%s", code, out, stderr)
		}
	}
	run()
	text := func(secret, key string) []byte {
		t.Helper()
		raw, err := json.Marshal(server.secrets[secret]["data"])
		if err != nil {
			t.Fatal(err)
		}
		var data map[string][]byte
		if err := json.Unmarshal(raw, &data); err != nil {
			t.Fatal(err)
		}
		return data[key]
	}
	for _, secret := range []string{"rota-tls", "rota-worker-tls", "rota-etcd", "rota-etcd-client"} {
		if _, err := tls.X509KeyPair(text(secret, "tls.crt"), text(secret, "tls.key")); err != nil {
			t.Errorf("secret %s: %v", secret, err)
		}
	}
	if bytes.Equal(text("rota-tls", "ca.crt"), text("rota-etcd", "ca.crt")) {
		t.Error("the API and etcd have the same authority")
	}
	file, err := config.ParseAuth("auth.yaml", text("rota-auth", "auth.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := auth.Directory{File: file}
	if who, err := known.ByToken(string(text("rota-admin", "token")), now); err != nil || who.Principal != "admin" {
		t.Errorf("the token proves %v, %v; want admin", who.Principal, err)
	}

	writes := server.writes
	run()
	if server.writes != writes {
		t.Errorf("a second run wrote %d secrets, want none", server.writes-writes)
	}
	before := text("rota-tls", "ca.crt")
	run("--host", "rota-1.rota-peers") // the certificates lack it
	if got := server.writes - writes; got != 2 {
		t.Errorf("a further host changed %d secrets, want the certificates of the API and of etcd", got)
	}
	if !bytes.Equal(text("rota-tls", "ca.crt"), before) {
		t.Error("a renewed certificate has another authority")
	}
}
