package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

func TestTheSchemaHasTheOutputFormat(t *testing.T) {
	for format, want := range map[string]string{"table": string(config.Schema()), "json": string(config.Schema()), "yaml": "$defs:\n  duration:\n"} {
		code, out, stderr := runHere(nil, "config", "schema", "-o", format)
		if code != exitOK || !strings.HasPrefix(out, want) || format != "yaml" && out != want {
			t.Errorf("%s: got %d, %.200s%s", format, code, out, stderr)
		}
	}
}

func TestTheSettingsFileOfTheEnvironmentIsRead(t *testing.T) {
	dir := t.TempDir()
	bad, empty := filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "empty.yaml")
	for path, text := range map[string]string{bad: "node: {nam: q7}\n", empty: "node: {name: q7}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + dir, "ROTA_CONFIG=" + bad}
	for _, args := range [][]string{{"config", "show"}, {"serve"}, {"worker"}, {"verify"}, {"etcdctl", "get", "/x"}} {
		if code, _, stderr := runHere(environ, args...); code != exitBadConfig || !strings.HasPrefix(stderr, bad+":1:8: ") {
			t.Errorf("%q: got %d, %q; want %d and the place in the file", args, code, stderr, exitBadConfig)
		}
	}
	// The error about etcd.endpoints proves that the worker has read its settings.
	if code, _, stderr := runHere(environ, "worker", "--config", empty); code != exitBadConfig || !strings.Contains(stderr, "a worker needs etcd.endpoints") {
		t.Errorf("--config beside it: got %d, %q", code, stderr)
	}
}
