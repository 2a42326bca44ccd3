package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// TestACertificateThatIsNotInUseIsReported spoils the files of a certificate. The process keeps the last good one, so an operator must
// learn of it before the next start.
func TestACertificateThatIsNotInUseIsReported(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	authority, err := pki.Init(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"q1", "q2"} {
		if err := authority.Issue(dir, pki.Request{Name: name, Kind: auth.KindReplica, Life: 30 * 24 * time.Hour}, now); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	b := &Backend{cfg: Config{Node: "q1", TLS: config.ServerTLS{Cert: file("q1.crt"), Key: file("q1.key")}}}
	if text := b.certificate(now); text != "" {
		t.Errorf("a good certificate: got %s", text)
	}
	for after, want := range map[time.Duration]string{20 * 24 * time.Hour: " expires at ", 40 * 24 * time.Hour: " expired at "} {
		if text := b.certificate(now.Add(after)); !strings.Contains(text, want) {
			t.Errorf("after %v: got %q, want %s", after, text, want)
		}
	}
	if err := os.Rename(file("q2.key"), file("q1.key")); err != nil {
		t.Fatal(err)
	}
	if text := b.certificate(now); !strings.Contains(text, "an earlier one is in use: tls: private key does not match") {
		t.Errorf("with the key of another certificate: got %q", text)
	}
}
