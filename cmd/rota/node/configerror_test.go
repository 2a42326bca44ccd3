package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

func TestBadSettingsAreConfigErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := func(s *config.Settings) { s.Etcd.Endpoints = []string{"http://127.0.0.1:1"} }
	certs := certificates(t)
	for _, tt := range []struct {
		name string
		make func(*config.Settings)
		want string
	}{
		{"a missing certificate", func(s *config.Settings) { s.HTTP.TLS = config.ServerTLS{Cert: missing, Key: missing} }, missing},
		{"a certificate that is none", func(s *config.Settings) { s.HTTP.TLS = config.ServerTLS{Cert: file, Key: file} }, "http.tls.cert " + file},
		{"a missing authority of clients", func(s *config.Settings) { s.HTTP.TLS = certs; s.HTTP.TLS.ClientCA = missing }, missing},
		{"an authority of clients that is none", func(s *config.Settings) { s.HTTP.TLS = certs; s.HTTP.TLS.ClientCA = file }, file},
		{"a missing password", func(s *config.Settings) { far(s); s.Etcd.PasswordFile = missing }, missing},
		{"a missing authority of etcd", func(s *config.Settings) { far(s); s.Etcd.TLS.CA = missing }, missing},
		{"an embedded etcd with https", func(s *config.Settings) { s.Etcd.Embedded.Client = "https://127.0.0.1:1" }, "etcd.embedded"},
		{"a cluster without this member", func(s *config.Settings) { s.Etcd.Embedded.Cluster = "q2=http://127.0.0.1:1" }, "etcd.embedded"},
		{"data below a file", func(s *config.Settings) { s.Node.DataDir = filepath.Join(file, "rota") }, file},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := settings(t, "q1")
			tt.make(&set)
			r := launch(t, Config{Settings: set, Version: version})
			r.stopped(t, tt.want)
			if err := r.end(); !IsConfig(err) {
				t.Errorf("got %v, which is none of configuration", err)
			}
		})
	}
}
