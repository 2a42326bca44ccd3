package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDevMakesANewTokenAtEachStart(t *testing.T) {
	dir := t.TempDir()
	g := devGuard{dir: filepath.Join(dir, "data"), state: filepath.Join(dir, "state")}
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	begin := func(now time.Time) (token, ca, key []byte) {
		t.Helper()
		if err := g.make("alice", replicaNames(2), now); err != nil {
			t.Fatal(err)
		}
		if err := g.configure([]string{"https://127.0.0.1:23790"}); err != nil {
			t.Fatal(err)
		}
		if err := g.publish([]string{"http://127.0.0.1:8470"}); err != nil {
			t.Fatal(err)
		}
		return read(g.token()), read(g.tls("ca.crt")), read(g.tls("q2.key"))
	}
	now := time.Now()
	token, ca, key := begin(now)
	nextToken, sameCA, nextKey := begin(now.Add(time.Hour))
	if bytes.Equal(token, nextToken) || bytes.Equal(key, nextKey) || !bytes.Equal(ca, sameCA) {
		t.Error("the second start must replace the token and the keys, and keep the authority")
	}
	if _, laterCA, _ := begin(now.Add(6 * 365 * 24 * time.Hour)); bytes.Equal(ca, laterCA) {
		t.Error("an authority that expires soon is kept")
	}
	if err := os.WriteFile(g.tls("ca.key"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(now)

	other := devGuard{dir: filepath.Join(dir, "other"), state: g.state}
	other.withdraw()
	if _, err := os.Stat(g.pointer(devEntriesFile)); err != nil {
		t.Errorf("the end of another rota dev removes the record of this one: %v", err)
	}
	g.withdraw()
	if left, _ := filepath.Glob(filepath.Join(g.state, "*")); len(left) != 0 {
		t.Errorf("after the end, files are left: %q", left)
	}
}

// TestDevStartsWithoutAHome protects a cluster of a user without a home, such as that of a container.
func TestDevStartsWithoutAHome(t *testing.T) {
	for _, environ := range [][]string{nil, {"HOME=" + os.DevNull}} {
		var stderr bytes.Buffer
		d := &dev{cli: &cli{environ: environ, err: &stderr, now: time.Now}, replicas: 1, dataDir: t.TempDir()}
		if err := d.protect(); err != nil {
			t.Errorf("%q: %v", environ, err)
		}
		if want := "commands need --token-file " + d.guard.token(); !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: got %q, want %q", environ, stderr.String(), want)
		}
		d.guard.withdraw()
	}
}

func TestDataOfAnOlderVersionStaysPlain(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"of-3/q1/etcd", "of-1/q1/etcd"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !madePlain(dir, 3) || madePlain(dir, 1) || madePlain(dir, 5) {
		t.Error("only members that know each other by plain URLs stay plain")
	}
	if err := markEncrypted(dir, 5); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "of-5/q1/etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if madePlain(dir, 5) {
		t.Error("data that was made with TLS is taken for plain")
	}
}
