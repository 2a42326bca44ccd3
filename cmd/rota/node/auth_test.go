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
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// A replica that requires authentication serves only clients that have a role, and still runs jobs. It can also read the output
// of a run on another process, with the proof of the client.
func TestAReplicaThatRequiresAuthentication(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	path := filepath.Join(t.TempDir(), "auth.yaml")
	tokens := map[string]string{}
	var entries strings.Builder
	for _, role := range []auth.Role{auth.Viewer, auth.AuthorCommand} {
		s := newSecret(t)
		tokens[string(role)] = s.Text()
		fmt.Fprintf(&entries, "  - {id: %s, sha256: %s, principal: %s, role: %s}\n", s.ID, s.Hash(), role, role)
	}
	if err := os.WriteFile(path, []byte("tokens:\n"+entries.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set.Auth = config.Auth{Mode: config.AuthRequired, File: path}
	set.Worker.Enabled = false
	worker := outside(t, "w1", set.Etcd.Embedded.Client)
	worker.Auth = set.Auth
	begin(t, Config{Settings: set, Version: version})
	begin(t, Config{Role: WorkerOnly, Settings: worker, Version: version})

	server := "http://" + set.HTTP.Listen
	const job = `{"shell":"echo from the worker"}`
	for _, tt := range []struct {
		method, path, body, token string
		want                      int
	}{
		{"GET", "/v1/jobs", "", "", 401},
		{"POST", "/v1/runs", job, "", 401},
		{"GET", "/metrics", "", "", 401},
		{"GET", "/livez", "", "", 200},
		{"GET", "/v1/jobs", "", tokens["viewer"], 200},
		{"GET", "/metrics", "", tokens["viewer"], 200},
		{"PUT", "/v1/jobs/talk", job, tokens["viewer"], 403},
		{"PUT", "/v1/jobs/talk", job, tokens["author-command"], 201},
		{"POST", "/v1/jobs/talk/runs", `{"key":"k"}`, tokens["author-command"], 201},
		{"PUT", "/v1/limits/db", `{"concurrent":1}`, tokens["author-command"], 403},
	} {
		if status, text := ask(t, tt.method, server+tt.path, tt.body, tt.token); status != tt.want {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.path, status, text, tt.want)
		}
	}
	_, text := ask(t, "POST", server+"/v1/jobs/talk/runs", `{"key":"k"}`, tokens["author-command"])
	_, id, _ := strings.Cut(text, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	eventually(t, "the output can be read through the replica", func() bool {
		status, out := ask(t, "GET", server+"/v1/runs/talk/"+id+"/logs", "", tokens["viewer"])
		return status == http.StatusOK && out == "from the worker\n"
	})
	resp, err := http.Get("http://" + worker.HTTP.Listen + "/v1/runs/talk/" + id + "/logs")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the worker answers a stranger with %d", resp.StatusCode)
	}

	// A token that is removed is refused soon, without a restart.
	if err := os.WriteFile(path, []byte("bindings: [{principal: nobody, role: viewer}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	removed := time.Now()
	eventually(t, "the removed token is refused", func() bool {
		status, _ := ask(t, "GET", server+"/v1/jobs", "", tokens["viewer"])
		return status == http.StatusUnauthorized
	})
	t.Logf("a removed token was refused after %v", time.Since(removed))
}
