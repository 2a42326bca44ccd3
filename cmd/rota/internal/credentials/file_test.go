package credentials_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
)

// TestAHomeThatIsNoneHasNoCredentials has the homes of services: a file, or the home of another user.
func TestAHomeThatIsNoneHasNoCredentials(t *testing.T) {
	homes := []string{os.DevNull}
	if os.Geteuid() != 0 { // root may read everything
		closed := filepath.Join(t.TempDir(), "closed")
		if err := os.Mkdir(closed, 0); err != nil {
			t.Fatal(err)
		}
		homes = append(homes, closed)
	}
	for _, home := range homes {
		if f, err := credentials.Load(filepath.Join(home, ".config", "rota", "credentials.yaml")); err != nil || len(f.Servers) != 0 {
			t.Errorf("%s: got %+v, %v, want none", home, f, err)
		}
	}
}

func TestAnEntryIsForOneServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rota", "credentials.yaml")
	if f, err := credentials.Load(path); err != nil || len(f.Servers) != 0 {
		t.Fatalf("a missing file: got %+v, %v, want an empty one", f, err)
	}
	saved := credentials.File{Servers: map[string]credentials.Entry{
		"https://q1:8470": {Token: "a"}, "http://127.0.0.1:8470": {Token: "b"}, "https://rota.example": {Token: "c"},
	}}
	if err := saved.Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := credentials.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{
		"https://q1:8470": "a", "https://Q1:8470/": "a", "http://localhost:8470": "", "127.0.0.1:8470": "b", "https://rota.example:443": "c",
		"http://q1:8470": "", "https://q1:8471": "", "https://q1.evil:8470": "", "http://127.0.0.1:8471": "", "https://rota.example.evil": "",
		"unix:///run/api.sock": "",
	} {
		if e, _ := f.For(server); e.Token != want {
			t.Errorf("%s: got the token %q, want %q", server, e.Token, want)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.Load(path); err == nil {
		t.Error("a file that the group can read is accepted")
	}
}
