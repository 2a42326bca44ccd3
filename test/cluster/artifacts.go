package cluster

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/history"
)

// Keep records the violations in v. If the test has failed, or ROTA_TEST_ARTIFACTS is set, Keep writes files and logs their
// paths. The files are the history, a picture, and a page about each inconsistent list of calls. Their folder is
// ROTA_TEST_ARTIFACTS, or the folder of go test -artifacts, or a new temporary folder.
func Keep(t testing.TB, h history.History, v history.Verdict) {
	t.Helper()
	Unforgiven(t, v.Violations...)
	t.Cleanup(func() {
		if t.Failed() || os.Getenv("ROTA_TEST_ARTIFACTS") != "" {
			keep(t, h, v)
		}
	})
}

func keep(t testing.TB, h history.History, v history.Verdict) {
	t.Helper()
	dir, err := artifacts(t)
	if err != nil {
		t.Error(err)
		return
	}
	files := make(map[string][]byte)
	var picture bytes.Buffer
	if err := history.Draw(&picture, h, v); err != nil {
		t.Errorf("draw the history: %v", err)
	}
	files["history.svg"] = picture.Bytes()
	if files["history.json"], err = json.Marshal(h); err != nil {
		t.Errorf("encode the history: %v", err)
	}
	for _, found := range v.Violations {
		var page bytes.Buffer
		if found.Rule != history.RuleAnswer || !history.Called(h, found.What) {
			continue
		}
		if err := history.DrawCalls(&page, h, found.What); err != nil {
			t.Errorf("draw the calls about %s: %v", found.What, err)
		}
		files["calls "+strings.ReplaceAll(found.What, "/", " ")+".html"] = page.Bytes()
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Error(err)
		}
	}
	t.Logf("picture of what happened: %s", filepath.Join(dir, "history.svg"))
}

// artifacts creates the folder in which a test leaves its files.
func artifacts(t testing.TB) (string, error) {
	if root := os.Getenv("ROTA_TEST_ARTIFACTS"); root != "" {
		dir := filepath.Join(root, filepath.FromSlash(t.Name()))
		return dir, os.MkdirAll(dir, 0o700)
	}
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		return t.ArtifactDir(), nil // without -artifacts, go test removes this folder after the test
	}
	//nolint:usetesting // The files must outlive the test.
	return os.MkdirTemp("", "rota-"+filepath.Base(t.Name())+"-")
}
