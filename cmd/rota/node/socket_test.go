package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/test/buffer"
)

func TestANodeOpensASocketForItsUser(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	file := filepath.Join(t.TempDir(), "auth.yaml")
	if err := os.WriteFile(file, []byte("bindings: [{principal: nobody, role: viewer}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	set.Auth = config.Auth{Mode: config.AuthRequired, File: file}
	path := filepath.Join(set.Node.DataDir, "api.sock")
	r := start(t, Config{Settings: set, Version: version})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v, want a socket that only its owner can open", info, err)
	}
	for server, works := range map[string]bool{"unix://" + path: true, "http://" + set.HTTP.Listen: false} {
		cl, err := client.New(client.Config{Servers: server})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cl.Jobs(t.Context()); (err == nil) != works {
			t.Errorf("%s: got %v", server, err)
		}
		cl.Close()
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // a killed process leaves its socket, and this is none
		t.Fatal(err)
	}
	err = Run(t.Context(), Config{Settings: set, Version: version}, logger(&buffer.Buffer{}))
	if !IsConfig(err) || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("another file in place of the socket: got %v, want a refusal", err)
	}
}
