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

func TestConfigShowReadsAuthFile(t *testing.T) {
	dir := t.TempDir()
	settings, file := filepath.Join(dir, "rota.yaml"), filepath.Join(dir, "auth.yaml")
	if err := os.WriteFile(settings, []byte("node: {name: q7}\nauth: {mode: required, file: "+file+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	show := []string{"config", "show", "--config", settings}
	code, out, stderr := runHere([]string{"HOME=" + dir}, show...)
	if code != exitOK || !strings.Contains(stderr, "warning: "+file) || !strings.Contains(out, "name: q7") {
		t.Errorf("without the file: got %d, %q and %q; want a warning", code, out, stderr)
	}
	for role, want := range map[string]int{"admin": exitOK, "boss": exitBadConfig} {
		text := "bindings: [{principal: a, role: " + role + "}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, stderr := runHere([]string{"HOME=" + dir}, show...)
		if code != want || !strings.Contains(out, "name: q7") || (want == exitOK) != (stderr == "") {
			t.Errorf("%s: got %d, %q and %q; want %d", text, code, out, stderr, want)
		}
	}
}

// No process starts on such a directory, so an operator must learn it before the restart.
func TestConfigShowChecksTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	show := func() (int, string) {
		code, _, stderr := runHere([]string{"HOME=" + dir}, "config", "show", "--node-data-dir", dir)
		return code, stderr
	}
	if code, stderr := show(); code != exitOK || stderr != "" {
		t.Errorf("a directory of its owner: got %d, %q", code, stderr)
	}
	if err := os.Chmod(dir, 0o707); err != nil {
		t.Fatal(err)
	}
	if code, stderr := show(); code != exitBadConfig || !strings.Contains(stderr, "chmod o-w "+dir) {
		t.Errorf("a directory of everybody: got %d, %q; want %d", code, stderr, exitBadConfig)
	}
}
