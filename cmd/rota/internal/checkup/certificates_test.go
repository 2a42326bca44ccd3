package checkup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
)

// The authority of rota pki is that of the API and of etcd. A finding about it must appear once.
func TestAFileThatSeveralSettingsNameIsExaminedOnce(t *testing.T) {
	t.Parallel()
	dir := pkitest.Dir(t, nil)
	var s config.Settings
	s.HTTP.TLS.ClientCA = filepath.Join(dir, "ca.crt")
	s.Etcd.Embedded.TLS.CA = s.HTTP.TLS.ClientCA
	if list := certificates(&s); len(list) != 1 || list[0].Where != s.HTTP.TLS.ClientCA {
		t.Errorf("got %v, want the authority once", list)
	}
}

// A running process goes on with the certificates and authorities that it read last. So nothing else names a broken file before the
// next start.
func TestBrokenFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := pkitest.Replicas(t, "q1", "q2")
	in := func(name string) string { return filepath.Join(dir, name) }
	var s config.Settings
	s.HTTP.TLS = config.ServerTLS{Cert: in("q1.crt"), Key: in("q1.key"), ClientCA: in("ca.crt")}
	s.Etcd.Embedded.TLS = config.ClientTLS{Cert: in("q1.crt"), Key: in("q1.key"), CA: in("ca.crt")}
	if list := broken(&s); len(list) > 0 {
		t.Errorf("whole files: got %v", list)
	}
	if err := os.WriteFile(in("ca.crt"), []byte("-----BEGIN CERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.HTTP.TLS.Key, s.Auth.OIDC.CA = in("q2.key"), in("gone.crt")
	list := broken(&s)
	if len(list) != 3 || list[0].Path != in("q1.crt") || list[1].Path != in("ca.crt") || list[2].Path != in("gone.crt") {
		t.Errorf("a key of another certificate, half an authority and none: got %v", list)
	}
}
