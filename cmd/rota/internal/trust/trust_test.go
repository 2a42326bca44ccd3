package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
)

// The last authorities count while the file has none. An unchanged file gives the same ones, so that callers keep their
// connections.
func TestAFileKeepsItsLastAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := pki.Init(dir, "prod", time.Now()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ca.crt")
	f := NewFile("http.tls.client_ca", path)
	first, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "garbage"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := f.Read(); again != first || err != nil {
			t.Errorf("with %q: got %p, %v, want %p", text, again, err, first)
		}
		if _, err := f.ReadSince(time.Now()); err == nil {
			t.Errorf("with %q: authorities that the file had before count", text)
		}
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "read http.tls.client_ca ") {
			t.Errorf("with %q: got %v, want an error that names the setting", text, err)
		}
		if _, err := NewFile("http.tls.client_ca", path).Read(); err == nil {
			t.Errorf("with %q, at the start: got no error", text)
		}
	}
}
