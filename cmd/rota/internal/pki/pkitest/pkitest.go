package pkitest

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Life is how long the certificates are valid.
const Life = 30 * 24 * time.Hour

// Dir returns a new directory with an authority, and with a certificate for each name. kinds holds their kinds by name.
func Dir(t testing.TB, kinds map[string]string) string {
	t.Helper()
	dir, now := t.TempDir(), time.Now()
	authority, err := pki.Init(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range kinds {
		if err := authority.Issue(dir, pki.Request{Name: name, Kind: kind, Life: Life}, now); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Replicas is Dir for replicas alone.
func Replicas(t testing.TB, names ...string) string {
	t.Helper()
	kinds := make(map[string]string, len(names))
	for _, name := range names {
		kinds[name] = auth.KindReplica
	}
	return Dir(t, kinds)
}
