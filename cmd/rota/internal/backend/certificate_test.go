package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
)

// TestACertificateThatIsNotInUseIsReported spoils the files of a certificate. The process keeps the last good one, so an operator must
// learn of it before the next start.
func TestACertificateThatIsNotInUseIsReported(t *testing.T) {
	t.Parallel()
	dir, now := pkitest.Replicas(t, "q1", "q2"), time.Now()
	file := func(name string) string { return filepath.Join(dir, name) }
	b := &Backend{cfg: Config{Node: "q1", TLS: config.ServerTLS{Cert: file("q1.crt"), Key: file("q1.key"), ClientCA: file("ca.crt")}}}
	if text := b.certificate(now); text != "" {
		t.Errorf("a good certificate: got %s", text)
	}
	for after, want := range map[time.Duration]string{20 * 24 * time.Hour: " expires at ", 40 * 24 * time.Hour: " expired at "} {
		if text := b.certificate(now.Add(after)); !strings.Contains(text, want) {
			t.Errorf("after %v: got %q, want %s", after, text, want)
		}
	}
	ca, err := os.ReadFile(file("ca.crt"))
	if err == nil {
		err = os.WriteFile(file("ca.crt"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text := b.certificate(now); !strings.Contains(text, "an earlier one is in use: read http.tls.client_ca ") {
		t.Errorf("with an empty file of authorities: got %q", text)
	}
	if err := os.WriteFile(file("ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file("q2.key"), file("q1.key")); err != nil {
		t.Fatal(err)
	}
	if text := b.certificate(now); !strings.Contains(text, "an earlier one is in use: tls: private key does not match") {
		t.Errorf("with the key of another certificate: got %q", text)
	}
}
