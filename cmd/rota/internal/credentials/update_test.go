package credentials_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
)

func TestUpdatesOfOneFileFollowEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rota", "credentials.yaml")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := credentials.Update(path, func(f *credentials.File) error {
				f.Put(fmt.Sprintf("https://q%d:8470", i), credentials.Entry{Token: "a"})
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f, err := credentials.Load(path)
	if err != nil || len(f.Servers) != 20 {
		t.Errorf("got %d entries, %v, want 20", len(f.Servers), err)
	}
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want the mode 0600", name, info, err)
		}
	}
	refused := errors.New("refused")
	err = credentials.Update(path, func(f *credentials.File) error { f.Remove("https://q1:8470"); return refused })
	if f, _ := credentials.Load(path); !errors.Is(err, refused) || len(f.Servers) != 20 {
		t.Errorf("a change that fails: got %v and %d entries", err, len(f.Servers))
	}
}

func TestARenewedSignInReplacesTheOldOneAtEachServer(t *testing.T) {
	old := credentials.OpenID{Issuer: "https://login.example", IDToken: "1", Refresh: "r1", Expires: time.Unix(1, 0).UTC()}
	next := credentials.OpenID{Issuer: "https://login.example", IDToken: "2", Refresh: "r2", Expires: time.Unix(2, 0).UTC()}
	other := old
	other.Refresh = "r3"
	var f credentials.File
	f.Put("https://q1:8470", credentials.Entry{OpenID: &old})
	f.Put("https://Q2:8470/", credentials.Entry{OpenID: &old})
	f.Put("https://q3:8470", credentials.Entry{OpenID: &other})
	f.Put("https://q4:8470", credentials.Entry{Token: "t"})
	f.Renewed(old, next)
	for server, want := range map[string]string{"https://q1:8470": "r2", "https://q2:8470": "r2", "https://q3:8470": "r3", "https://q4:8470": ""} {
		e, _ := f.For(server)
		if got := e.OpenID; want == "" && got != nil || want != "" && (got == nil || got.Refresh != want) {
			t.Errorf("%s: got %+v, want the refresh token %q", server, got, want)
		}
	}
	f.Remove("https://q1:8470/")
	if _, ok := f.For("https://q1:8470"); ok || len(f.Servers) != 3 {
		t.Errorf("after the removal: got %+v", f.Servers)
	}
}
