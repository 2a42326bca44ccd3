package node

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// secured returns settings that require authentication, and a file with the token of an administrator.
func secured(t *testing.T, set config.Settings) (secured config.Settings, tokenFile string) {
	t.Helper()
	dir := t.TempDir()
	s := newSecret(t)
	entry := fmt.Sprintf("tokens: [{id: %s, sha256: %s, principal: root, role: admin}]\n", s.ID, s.Hash())
	tokenFile = filepath.Join(dir, "token")
	set.Auth = config.Auth{Mode: config.AuthRequired, File: filepath.Join(dir, "auth.yaml")}
	for path, text := range map[string]string{set.Auth.File: entry, tokenFile: s.Text()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return set, tokenFile
}

// statusOf returns the status of a GET with a token.
func statusOf(t *testing.T, addr, path, token string) int {
	t.Helper()
	status, _ := ask(t, http.MethodGet, "http://"+addr+path, "", token)
	return status
}

// A token in the store counts at every replica and worker within a second after it was created, and no longer than a second after it
// was revoked.
func TestATokenInTheStoreCountsEverywhere(t *testing.T) {
	t.Parallel()
	set, tokenFile := secured(t, settings(t, "q1"))
	other, worker := outside(t, "q2", set.Etcd.Embedded.Client), outside(t, "w1", set.Etcd.Embedded.Client)
	other.Auth, worker.Auth = set.Auth, set.Auth
	begin(t, Config{Settings: set, Version: version})
	begin(t, Config{Settings: other, Version: version})
	begin(t, Config{Role: WorkerOnly, Settings: worker, Version: version})
	admin, err := client.New(client.Config{Servers: "http://" + set.HTTP.Listen, TokenFile: tokenFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	eventually(t, "the administrator is known", func() bool { _, err := admin.Tokens(t.Context()); return err == nil })

	first, second := newSecret(t), newSecret(t)
	made, err := admin.CreateToken(t.Context(), api.CreateTokenRequest{
		ID: first.ID, Hash: first.Hash(), Principal: "ci", Role: auth.Viewer, Life: "90d",
	})
	if err != nil || made.By != "root from 127.0.0.1" {
		t.Fatalf("create: %+v, %v", made, err)
	}
	if got := statusOf(t, set.HTTP.Listen, "/v1/jobs", first.Text()); got != 200 {
		t.Errorf("right after the answer, the same replica answers %d", got)
	}
	counts := func(token string, want int) {
		t.Helper()
		began := time.Now()
		for addr, path := range map[string]string{other.HTTP.Listen: "/v1/jobs", worker.HTTP.Listen: "/metrics"} {
			eventually(t, fmt.Sprintf("%s answers %d", addr, want), func() bool { return statusOf(t, addr, path, token) == want })
		}
		t.Logf("known everywhere after %v", time.Since(began))
	}
	counts(first.Text(), 200)
	counts(second.Text(), 401)
	rotated, err := admin.RotateToken(t.Context(), first.ID, api.RotateTokenRequest{ID: second.ID, Hash: second.Hash()})
	if err != nil || rotated.Principal != "ci" || rotated.Role != auth.Viewer {
		t.Fatalf("rotate: %+v, %v", rotated, err)
	}
	counts(second.Text(), 200)
	counts(first.Text(), 200) // both are valid for 24 hours
	if err := admin.RevokeToken(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	counts(first.Text(), 401)
	counts(second.Text(), 200)
	l, err := admin.Audit(t.Context(), client.AuditFilter{By: "root"}, "")
	if err != nil || !audited(l.Records, "create-token") || !audited(l.Records, "rotate-token") || !audited(l.Records, "revoke-token") {
		t.Errorf("audit records: %+v, %v", l.Records, err)
	}
	if got := statusOf(t, set.HTTP.Listen, "/v1/tokens", second.Text()); got != 403 {
		t.Errorf("a viewer lists tokens: got %d", got)
	}
}

// Refused requests write nothing, however many they are. A wrong auth.file is reported.
func TestRefusedRequestsWriteNothing(t *testing.T) {
	t.Parallel()
	set, tokenFile := secured(t, settings(t, "q1"))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	admin, err := client.New(client.Config{Servers: "http://" + set.HTTP.Listen, TokenFile: tokenFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	revision := func() int64 {
		rev, err := r.node.store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	before := int64(0)
	eventually(t, "the replica leads and the store rests", func() bool {
		v, err := admin.Cluster(t.Context())
		last := before
		before = revision()
		return err == nil && v.Leader != nil && last == before
	})
	stranger := newSecret(t).Text()
	began := time.Now()
	const requests = 10_000
	handler := r.node.server.Handler()
	for i := range requests {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://localhost/v1/jobs/j", strings.NewReader(`{"shell":"id"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.RemoteAddr = "127.0.0.1:1"
		if i%2 == 0 {
			req.Header.Set("Authorization", "Bearer "+stranger)
		}
		w := &discard{header: http.Header{}}
		handler.ServeHTTP(w, req)
		if w.status != 401 && w.status != 429 {
			t.Fatalf("got %d, want a refusal", w.status)
		}
	}
	t.Logf("%d requests were refused in %v", requests, time.Since(began))
	if after := revision(); after != before {
		t.Errorf("the store went from revision %d to %d", before, after)
	}

	if err := os.WriteFile(set.Auth.File, []byte("bindings: [{principal: x, role: root}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status reports the wrong file, with the rules of the last good one", func() bool {
		v, err := admin.Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range v.Attention {
			if item.Kind == "auth_file" && strings.Contains(item.Text, "auth.yaml:1:") {
				return true
			}
		}
		return false
	})
}

// discard is an answer of which only the status is kept.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}
func (d *discard) Write(b []byte) (int, error) { d.WriteHeader(http.StatusOK); return len(b), nil }
